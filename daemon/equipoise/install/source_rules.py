"""What `equipoise init --rules source` writes: each key by which the rules are those of their sources' documents.

SynElo's is the description of its author, CdeYazoo; NS2's that of its author, Moultano. What no key can bring back,
because the documents are mistaken there or say nothing, stands in docs/rules.md ("The sources, and what is otherwise
here"). Keys whose default is the document's already are written all the same: an upgrade may change a default.
"""

TF2_POOL = """\
# "Parameters": the table of the document, line by line.
system = "synelo"
# R_0, R_min: the first rating, and the least.
initial = 1000.0
floor = 100.0
# T_shadow, R_T_shadow: rounds before a rating is visible, and the most it is then.
shadow_rounds = 50
shadow_cap = 2200.0
# T_stale: days.
stale_days = 30.0
# K_min, K_max.
k_factor_min = 2.0
k_factor_max = 72.0
# F1: theta = 400 * floor(median{1, ..., k_max}), 2400 for 12 against 12. k_max is the largest team size; over several
# servers the median of theirs.
k_max = 12
# F3: W rounds, and the weights of velocity, of the excess of wins, and of volatility.
window = 500
velocity_weight = 0.25
excess_weight = 0.25
volatility_weight = 0.5
# F2: "All updates should use Banker's rounding."
rounding = "bankers"
# F2 asks who played, not how long.
late = "full"
# The ratings that players see make the teams, as GPE reads no others.
balance = "synelo"
# F4: sigma.
compression = 400.0"""

FRIENDS_KEY = """\
# The document knows no friends whom teams keep together.
friends = false

"""

TF2_RULES = """\
[arena]
# "Round 1 is always a 1v1 duel."
round_one = "duel"
# Teams are new by a scramble alone. Between two of them players come in from the queue and give way; no other moves.
swaps = false

[triggers]
# "Round 2 is always scrambled unconditionally"; later, "when one team wins 3 rounds in a row".
arena = { round_two = true, streak = 3 }
# "unconditional scramble when the Waiting For Players period expires", and "attackers run out of time without capturing
# any objectives or 2 full rounds completed".
attack_defend = { waiting = true, no_capture = true, rounds = 2 }
payload = { waiting = true, no_capture = true, rounds = 2 }
# "one team never captures the/a control point before the other team wins", or the flag.
koth = { waiting = true, no_capture = true }
symmetric_cp = { waiting = true, no_capture = true }
ctf = { waiting = true, no_capture = true }
# "All modes".
payload_race = { waiting = true }
other = { waiting = true }

[scramble]
# F7: the least k is 2.
min_players = 4
# F7: the least |sum(A) - sum(B)|, and nothing is given up for turns on the bench or for fewer moves.
tolerance = 0.0
# F7: "Player 0 (highest-rated) is anchored to team A", for every k.
top_player_always_plays = true
# F7 splits those who play.
spectator_seconds = 0.0

[autobalance]
# "Only trigger when |k(A) - k(B)| >= 2."
enabled = true
# F11: "Apply within 10 seconds of the imbalance being detected."
deadline_seconds = 10.0
# F11 knows neither players who were moved lately nor a round's last seconds.
spare_minutes = 0.0
quiet_seconds = 0.0
# Nor what players did for their side.
objective_seconds = 0.0

[lock]
# The document says nothing of locks: nobody is held to a side.
minutes = 0.0

[vote]
# The document says what triggers a scramble; a vote is not among it.
enabled = false"""

NS2_KEYS = """\
# The document knows no round that is too short to count.
ns2_min_seconds = 0.0
# Nor one of too few players.
min_rated_humans = 2

"""

NS2_POOL = """\
system = "ns2"
# "Learning Rate": c, a and epsilon "are tunable parameters"; it prints no values, these are the program's.
constant_rate = 0.2
adagrad_rate = 0.6
adagrad_floor = 0.1
# "Fully Solving": k and theta of the Gamma distribution, again without values.
shape = 6.0
scale = 0.5
commander_shape = 6.0
# "Per Team Skills": s + o as a marine, s - o as an alien.
plus_side = "marines"
# "Special treatment for commanders": their skill is chi alone.
commander_field_share = 0.0
# "Accounting for imbalance": "aliens on ns2_summit with game size > 16".
large_above = 16
# It knows no bots: the time of players alone makes a round.
bots = false
# It knows no shadow period.
shadow_rounds = 0
# No line `balance`: the skills that are shown make the teams."""

NS2_RULES = """\
[shuffle]
# "players could vote": teams are new by a vote, or by an admin, and not before every round.
at_round_start = false
# "Find the pair where swapping them minimizes the absolute value of the skill difference. Iterate until there is no
# pair that reduces" it; players who have not joined a team are placed first.
method = "greedy"
max_moves = 0
# However even the teams are, a vote is taken.
fair_band = [0.0, 0.0]

[autobalance]
# The document says nothing of players who join, leave and change side while a round runs.
enabled = false

[lock]
# Nor of locks: nobody is held to a side.
minutes = 0.0"""
