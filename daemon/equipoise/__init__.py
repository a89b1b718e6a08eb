"""Equipoise: fair teams for community game servers."""


def __getattr__(name: str) -> str:
    # Asked of the installation, and only by those who want it: reading it takes longer than many a command.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("equipoise")
