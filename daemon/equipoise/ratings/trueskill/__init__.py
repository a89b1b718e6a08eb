"""TrueSkill, which rates the order of any number of teams, and TrueSkill Through Time, which also fits histories."""
