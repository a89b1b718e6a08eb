"""The game's side of the rig: Team Fortress 2 as a plugin can tell it apart from the real one."""
