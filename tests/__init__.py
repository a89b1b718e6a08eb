"""Tests mirror the packages; rigs that several of them share stand here."""
