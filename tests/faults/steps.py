"""What the fault tests make an edge do, and what may be on its disk then.

A workload is a list of steps. Each is acknowledged by a line through a pipe, which outlives the process: ``ack 3``.
"""

from dataclasses import dataclass

from edge_node.records import document_id

WARDS = {
    "ward.md": "Juniper Ward reported the failure of four infusion pumps in March. Each infusion pump used a battery pack of Corvid Cells.",
    "plant.md": "Corvid Cells makes the battery pack in Lund. Lot L-7713 of the battery pack caused the failure of infusion pumps.",
    "bank.md": "Harbour Bank finances Corvid Cells. Harbour Bank lends money to bakeries in Lund. Anna Holm leads Harbour Bank.",
    "trial.md": "Anna Holm met Juniper Ward in May. Doctor Reyes of Juniper Ward tested the infusion pumps against the Halden protocol.",
    "depot.md": "The Malmo depot stores infusion pumps. The Malmo depot delivered spare parts to Juniper Ward and to Doctor Reyes.",
}
BACKUP = "backup.db"
SECOND = "Corvid Cells makes the battery pack in Bergen. Lot L-8000 of the battery pack passed the Halden protocol. Harbour Bank left."


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a client asks for: ``accept``, ``remove``, ``settled`` (everything accepted is indexed) or ``backup``."""

    do: str
    name: str = ""
    text: str = ""

    @property
    def identity(self):
        return str(document_id(self.name, self.text.encode()))


FIRST = {name: Step("accept", name, text) for name, text in WARDS.items()}
STEPS = (  # a backup comes when all is settled, so that it has exactly what must be there
    *list(FIRST.values())[:4],
    Step("settled"),
    FIRST["depot.md"],
    Step("accept", "plant.md", SECOND),
    Step("settled"),
    Step("backup"),
    Step("remove", "bank.md", WARDS["bank.md"]),
    Step("settled"),
)


def allowed(acked):
    """Ids that must be there, and ids that may: the first ``acked`` steps were acknowledged, the next one is under way."""
    must, may = set(), set()
    for number, step in enumerate(STEPS[: acked + 1]):
        done = number < acked
        older = {one.identity for one in STEPS[:number] if one.do == "accept" and one.name == step.name} - {step.identity}
        match step.do:
            case "accept":  # what it replaces may stay until it is indexed
                (must if done else may).add(step.identity)
                may |= older & must
                must -= older
            case "remove":
                must.discard(step.identity)
                (may.discard if done else may.add)(step.identity)
            case "settled" if done:
                may.clear()
    return must, may
