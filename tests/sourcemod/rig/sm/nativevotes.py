"""The plugin NativeVotes as other plugins meet it: votes of two answers on the game's own panel.

Source: https://github.com/sapphonie/sourcemod-nativevotes-updated, `addons/sourcemod/scripting/nativevotes.sp` unless
another file is named; what is used of it is the same in Powerlord's. A test loads it by `game.sm.native_votes.load()`.
Votes of several choices, revotes, initiators, and its own vote commands are not here.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..binding import Call, Callback, InGame, Text, native
from ..machine import NativeError
from ..memory import Ref
from .commands import HANDLED
from .convars import ConVar
from .menus import CANCEL, DISCONNECTED, DISPLAY, END, SELECT, VOTE_CANCEL, VOTE_END, VOTE_START
from .menus import VOTING_CANCELLED as MENU_CANCELLED
from .menus import VOTING_DONE as MENU_DONE
from .votes import GENERIC, NO_VOTES, PENDING

if TYPE_CHECKING:
    from ..sourcemod import SourceMod

LIBRARY = "nativevotes"
NATIVES = tuple(
    f"NativeVotes_{name}"
    for name in (
        "Create", "Close", "Display", "IsVoteInProgress", "CheckVoteDelay", "Cancel", "RedrawVoteTitle",
        "DisplayPassCustomToOne", "DisplayFail",
    )
)  # fmt: skip
CUSTOM_YES_NO = 1
"""include/nativevotes.inc, NativeVotesType."""
ANSWERS = ("Yes", "No")
CHANGED = 1
RESET = 5.0


@dataclass(eq=False, slots=True)
class NativeVote:
    """A vote of a plugin: `Data_CreateVote` (nativevotes/data-keyvalues.sp)."""

    callback: Callback
    actions: int
    handle: int = 0


@dataclass(frozen=True, slots=True)
class Listener:
    """A command that it listens to."""

    votes: "NativeVotes"
    plugin: None = None

    def __call__(self, client: int, name: str, arguments: int) -> int:
        return self.votes.call(client) if name == "callvote" else self.votes.vote(client)


@dataclass(slots=True)
class NativeVotes:
    """The plugin of one server, while `loaded`."""

    sm: "SourceMod"
    loaded: bool = False
    open: list[NativeVote] = field(default_factory=list)
    """Votes that plugins have created and not closed."""
    shown: dict[int, str] = field(default_factory=dict)
    """The question on the panel of each client; it leaves with a message of success or failure."""
    told: dict[int, list[str | int]] = field(default_factory=dict)
    """What each client's panel showed at the end of votes: a text, or the number of a failure."""
    choices: dict[int, int] = field(default_factory=dict)
    """What each client of the vote's pool has chosen, PENDING until then (g_ClientVotes)."""
    issue: int = -1
    """m_iActiveIssueIndex of the game's vote_controller: -1, or a vote has the panel (TF2CSGO_IsVoteInProgress)."""
    _current: NativeVote | None = None
    _cancelled: bool = False
    _started: bool = False
    _waits_for: int = 0
    _left: int = 0
    _ticks_at: float = 0.0
    _next_at: float = 0.0
    _resets: list[float] = field(default_factory=list)
    _displaying: int = 0
    _title: str = ""

    def load(self) -> None:
        """Load it: other plugins hear of its library."""
        self.loaded = True
        self.sm.convars.by_name["nativevotes_vote_delay"] = ConVar("nativevotes_vote_delay", "30", "30")
        for name in ("vote", "callvote"):
            self.sm.commands.listeners.append((name, Listener(self)))  # type: ignore[arg-type]
        self.sm.forward("OnLibraryAdded", LIBRARY)

    def unload(self) -> None:
        """Unload it: the library goes first, with natives that still answer; then its handles, without a callback.

        CPluginManager::Purge (core/logic/PluginSys.cpp); it has no OnPluginEnd.
        """
        self.sm.forward("OnLibraryRemoved", LIBRARY)
        self.loaded = False
        self._current = None
        for vote in list(self.open):
            self.close(vote)
        self.sm.commands.listeners = [
            (name, listener) for name, listener in self.sm.commands.listeners if not isinstance(listener, Listener)
        ]

    @property
    def running(self) -> bool:
        """Native_IsVoteInProgress."""
        return self._current is not None or self.issue != -1

    @property
    def delay(self) -> int:
        """Native_CheckVoteDelay: whole seconds."""
        return max(int(self._next_at) - int(self.sm.world.now), 0)

    def begin(self, vote: NativeVote, clients: list[int], seconds: int) -> None:
        """StartVote: all clients are shown the panel, then the vote counts as started."""
        if self._current is not None:
            raise NativeError("A vote is already in progress")
        self._reset(self.sm.world.now)
        self.choices = {}
        self._current, self._left = vote, seconds
        self._delay_next(seconds)
        self.choices = dict.fromkeys(clients, PENDING)
        self._waits_for = len(clients)
        self.issue = 0
        for client in clients:
            self.shown[client] = self._question(vote, client)
        self._started = True
        self._tell(vote, VOTE_START)
        self._ticks_at = self.sm.world.now + 1.0
        if not self._waits_for:
            self._end()

    def choose(self, client: int, answer: str) -> None:
        """A client presses the key beside an answer, as the game's panel sends it since June 2022."""
        player = self.sm.world.players[client]
        self.sm.commands.from_client(player, f"vote 0 option{ANSWERS.index(answer) + 1}")

    def vote(self, client: int) -> int:
        """Command_Vote, TF2_ParseVote (nativevotes/game.sp)."""
        if self._current is None or self.choices.get(client) != PENDING:
            return 0
        words = self.sm.commands.current.words
        option = words[2] if len(words) == 3 else ""
        item = int(option[6]) - 1 if len(option) == 7 and option[6].isdecimal() else -1
        if item < 0 or item > len(ANSWERS):
            return HANDLED
        if item < len(ANSWERS):
            self.choices[client] = item
            self._tell(self._current, SELECT, client, item)
        self._client_ends()
        return HANDLED

    def call(self, client: int) -> int:
        """Command_CallVote: nothing is called while a vote runs; else, without overrides, the game answers."""
        return HANDLED if self.running else 0

    def client_left(self, client: int) -> None:
        """OnClientDisconnect_Post: the choice is taken back; who had chosen is counted as gone a second time."""
        self.shown.pop(client, None)
        if self._current is None or client not in self.choices:
            return
        del self.choices[client]
        self._tell(self._current, CANCEL, client, DISCONNECTED)
        self._client_ends()

    def withdraw(self) -> None:
        """Native_Cancel."""
        if self._current is None:
            raise NativeError("No vote is in progress")
        self.cancel()

    def cancel(self) -> None:
        """CancelVoting."""
        if self._current is not None and not self._cancelled:
            self._cancelled = True
            self._end()

    def close(self, vote: NativeVote) -> None:
        """Native_Close: a vote that runs is cancelled first."""
        if self._current is vote:
            self.cancel()
            self._current = None
        if vote in self.open:
            self.open.remove(vote)
            self.sm.handles.drop(vote.handle)

    def end_map(self) -> None:
        """OnMapEnd cancels the vote; the next map has a vote_controller of its own."""
        self.cancel()
        self.issue, self.shown = -1, {}

    def frame(self) -> None:
        """DisplayTimer, once a second, and Game_ResetVote, five seconds after every Internal_Reset of a vote."""
        now = self.sm.world.now
        if any(at <= now for at in self._resets):
            self._resets = [at for at in self._resets if at > now]
            self.issue = -1
        if self._current is not None and self._started and now >= self._ticks_at:
            self._ticks_at += 1.0
            self._left -= 1
            if self._left == 0:
                self._end()

    def redraw(self, title: str) -> int:
        """Native_RedrawVoteTitle."""
        if not self._displaying:
            raise NativeError("You can only call this once from a MenuAction_Display callback")
        self._title = title
        return CHANGED

    def message(self, client: int, said: str | int) -> None:
        """VotePass or VoteFailed: the panel shows it, and leaves."""
        self.shown.pop(client, None)
        self.told.setdefault(client, []).append(said)

    def _question(self, vote: NativeVote, client: int) -> str:
        """TF2CSGO_DisplayVote (nativevotes/game.sp): the details, or what the plugin draws for this client."""
        if not vote.actions & DISPLAY:
            return ""
        self._displaying, self._title = client, ""
        result = self._tell(vote, DISPLAY, client)
        self._displaying = 0
        return self._title if result == CHANGED else ""

    def _client_ends(self) -> None:
        """DecrementPlayerCount."""
        self._waits_for -= 1
        if self._started and not self._waits_for:
            self._end()

    def _end(self) -> None:
        """EndVoting."""
        vote, cancelled = self._current, self._cancelled
        assert vote is not None
        self._delay_next(0)
        counts = [list(self.choices.values()).count(item) for item in range(len(ANSWERS))]
        self._reset(None if cancelled else self.sm.world.now)
        total, most = sum(counts), max(counts)
        if cancelled or not total:
            self._tell(vote, VOTE_CANCEL, GENERIC if cancelled else NO_VOTES)
            self._tell(vote, END, MENU_CANCELLED)
            return
        winner = self.sm.random.choice([item for item, votes in enumerate(counts) if votes == most])
        self._tell(vote, VOTE_END, winner, total << 16 | most & 0xFFFF)
        self._tell(vote, END, MENU_DONE)

    def _reset(self, at: float | None) -> None:
        """Internal_Reset."""
        self._current, self._cancelled, self._started, self._waits_for = None, False, False, 0
        if at is not None:
            self._resets.append(at + RESET)

    def _delay_next(self, seconds: int) -> None:
        delay = int(self.sm.convars["nativevotes_vote_delay"].number)
        self._next_at = self.sm.world.now + delay + seconds if delay >= 1 else 0.0

    def _tell(self, vote: NativeVote, action: int, first: int = 0, second: int = 0) -> int:
        """DoAction: a plugin that is gone is not called."""
        return vote.callback(vote.handle, action, first, second) or 0


@native()
def NativeVotes_Create(call: Call, callback: Callback, kind: int, actions: int) -> int:
    """Game_CheckVoteType: TF2 has this one."""
    if kind != CUSTOM_YES_NO:
        raise NotImplementedError(f"NativeVotesType {kind}")
    vote = NativeVote(callback, actions)
    vote.handle = call.sm.handles.open(vote, closable=False)
    call.sm.native_votes.open.append(vote)
    return vote.handle


@native()
def NativeVotes_Close(call: Call, vote: NativeVote | None) -> None:
    if vote is not None:
        call.sm.native_votes.close(vote)


@native()
def NativeVotes_Display(call: Call, vote: NativeVote, clients: Ref, count: int, seconds: int, flags: int) -> bool:
    pool = [client for client in clients.read(count) if 1 <= client <= call.sm.world.slots]
    call.sm.native_votes.begin(vote, pool, seconds)
    return True


@native()
def NativeVotes_IsVoteInProgress(call: Call) -> bool:
    return call.sm.native_votes.running


@native()
def NativeVotes_CheckVoteDelay(call: Call) -> int:
    return call.sm.native_votes.delay


@native()
def NativeVotes_Cancel(call: Call) -> None:
    call.sm.native_votes.withdraw()


@native()
def NativeVotes_RedrawVoteTitle(call: Call, text: str) -> int:
    return call.sm.native_votes.redraw(text)


@native()
def NativeVotes_DisplayPassCustomToOne(call: Call, vote: NativeVote, client: InGame, text: Text) -> None:
    call.sm.native_votes.message(client.index, text.to(client.index))


@native()
def NativeVotes_DisplayFail(call: Call, vote: NativeVote, reason: int) -> None:
    """Game_DisplayVoteFail: to all humans."""
    for index, player in call.sm.world.players.items():
        if player.in_game and not player.bot:
            call.sm.native_votes.message(index, reason)
