"""TrueSkill 2: TrueSkill with squads, individual statistics, quits and experience."""
