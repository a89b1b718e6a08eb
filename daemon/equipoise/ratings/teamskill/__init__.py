"""TeamSkill: teams rated by the groups of players in them."""
