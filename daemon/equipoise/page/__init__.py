"""The page: what the daemon knows, for people with a browser. docs/page.md says what is on it."""

from equipoise.page.public_site import Export, PublicSite
from equipoise.page.site import PageSite

__all__ = ["Export", "PageSite", "PublicSite"]
