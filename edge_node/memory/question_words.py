"""Closed word lists of the question templates. Found by reading what they ask of real text."""

from __future__ import annotations

MAKING = frozenset(
    """
    acquire build buy commission compose create design develop direct edit establish form found illustrate invent join lead make manufacture
    own perform produce publish record release replace sign sing start win write
    """.split()  # noqa: SIM905 - a list would be a page long
)
LIGHT = frozenset(
    """
    accuse allow be bear become begin blame bring cause come criticize describe discuss do face fall feel find follow get give go have hear
    help include involve keep know label leave let like look make mean mention need play praise provide put question recall remember run say
    see seem show start take tell think try turn use want warn
    """.split()  # noqa: SIM905 - a list would be a page long
)
# what can be done without an object: other verbs that have none were misread ("raised in Leeds")
ALONE = frozenset(
    """
    air appear arrive begin close collapse compete crash debut depart die disband dissolve emerge end erupt expire fight graduate grow land
    launch leave live marry meet occur open operate originate perform play premiere reside resign retire return rule settle sink start study
    teach train
    """.split()  # noqa: SIM905 - a list would be a page long
)
NO_EVENTS = frozenset({"do", "get", "have", "hear", "keep", "know", "make", "see", "take"})  # "took the government" in 1978
NAMING = frozenset({"call", "dub", "name", "nickname", "term", "title"})
SERVING = frozenset({"act", "function", "play", "serve", "work"})  # as something
IN_SOMETHING = frozenset({"believe", "compete", "consist", "engage", "invest", "participate", "result", "specialize"})
NOT_COUNTED = frozenset({"and", "of", "or", "per", "percent", "to"})  # "How many per cent"
OPEN = frozenset({"all", "both", "few", "many", "more", "most", "mostly", "several", "some", "such", "various"})
PEOPLE = frozenset(
    """
    activist artist athlete bishop brother candidate captain chef chief coach cousin critic daughter economist father figure friend general
    golfer governor graduate head heir hero husband judge king lord mate matriarch mayor member mother native nominee nurse one patriarch
    philosopher physicist pilot poet president prince princess queen representative scholar scientist secretary sister soldier son star
    surgeon veteran widow wife
    """.split()  # noqa: SIM905 - a list would be a page long
)
EMPTY = frozenset(  # "a general term", "a type of good"
    {"concept", "example", "form", "kind", "name", "part", "reason", "reminder", "term", "thing", "type", "way", "word"}
)
THINGS = frozenset(
    """
    album band barrier beer book border brewery car center centre chain channel chapter city club company computer country county disease
    drama drug duo episode factor family festival film firm franchise game group hospital hotel lager language law league letter magazine
    matter motor movement movie museum newspaper novel number order organization paper park party place play power program publication
    quarter region river road route school season sector sequel series ship show single song sport station street studio suburb system
    team theater theatre theory thriller title tower town train tree university variant vector village war website winter
    """.split()  # noqa: SIM905 - a list would be a page long
)
IRREGULAR = {
    "beaten": "beat", "begun": "began", "borne": "bore", "broken": "broke", "chosen": "chose", "done": "did", "drawn": "drew",
    "driven": "drove", "drunk": "drank", "eaten": "ate", "flown": "flew", "forgotten": "forgot", "given": "gave", "grown": "grew",
    "hidden": "hid", "known": "knew", "overseen": "oversaw", "overthrown": "overthrew", "ridden": "rode", "rewritten": "rewrote",
    "run": "ran", "seen": "saw", "shaken": "shook", "shown": "showed", "spoken": "spoke", "stolen": "stole", "sung": "sang",
    "taken": "took", "thrown": "threw", "undertaken": "undertook", "woven": "wove", "won": "won", "worn": "wore", "written": "wrote",
}  # fmt: skip
