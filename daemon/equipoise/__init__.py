"""Equipoise: fair teams for community game servers."""


def __getattr__(name: str) -> str:
    # Asked of the installation, and only by those who want it: reading it takes longer than many a command.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    # Asked once: an upgrade replaces the installation below a daemon that still runs.
    globals()[name] = own = version("equipoise")
    return own
