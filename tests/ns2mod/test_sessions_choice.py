"""The secret team choice end to end: said in the console, read by no one, carried out by the mod."""

from __future__ import annotations

from collections.abc import Callable

from tests.ns2mod.rig.clients import Client
from tests.ns2mod.sessions import ALIENS, MARINES, Evening, fair

NewEvening = Callable[..., Evening]
QUIET = "[autobalance]\nenabled = false\n[shuffle]\nat_round_start = false\nchoice_seconds = 300.0\n"


def read(client: Client) -> list[str]:
    return [*client.chat, *client.prints]


def test_a_choice_with_a_tie_splits_the_last_winners_and_honours_what_balance_allows(new_evening: NewEvening) -> None:
    """Four want marines and four want aliens, all of them the winners' side or its opposite: some are denied."""
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    evening.start(people["a"], people["b"])
    evening.settle(100)
    evening.end(MARINES)
    winners = set("aceg")
    for name, client in people.items():
        client.moves()
        evening.game.join(client, MARINES if name in winners else ALIENS, force=True)
    evening.settle()
    assert evening.game.console("sv_eq_choice")
    evening.settle()
    heard = len(read(people["h"]))
    for name, client in people.items():
        if name != "h":
            client.console(f"eq choose {'marines' if name in 'acef' else 'aliens'}")
            evening.settle(0.5)
    assert len(read(people["h"])) == heard, "nobody reads what another chose"
    before = evening.sides()
    assert before == [sorted("aceg"), sorted("bdfh")], "nothing happens before all have chosen"
    assert not [line for line in evening.decisions() if "marines" in str(line["reason"]).lower()]

    people["h"].console("eq choose aliens")
    evening.settle(2)
    after = evening.sides()
    assert [len(side) for side in after] == [4, 4]
    assert len(winners & set(after[0])) == 2
    assert fair(evening)
    assert evening.status()["pending"] is None


def test_friends_play_together_and_a_denied_wish_weighs_more(new_evening: NewEvening) -> None:
    evening = new_evening(QUIET)
    people = evening.seat(*"abcdefgh")
    evening.rate(people, a=3000.0, b=400.0, c=3000.0, d=400.0, e=2000.0, g=2000.0)
    people["e"].console("eq friend h")
    evening.settle()
    people["h"].console("eq friend e")
    evening.settle(6)
    assert evening.game.console("sv_eq_shuffle now")
    evening.settle(2)
    assert people["e"].team == people["h"].team
    assert fair(evening)
