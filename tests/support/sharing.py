"""A sharing policy of a store whose file stands beside it."""

from edge_node.egress.ledger import Ledger
from edge_node.egress.meter import EgressMeter
from edge_node.egress.policy_file import NAME, PolicyFile
from edge_node.egress.sharing import Sharing


def sharing_of(documents, graph):
    """The open policy until the file says otherwise."""
    file = PolicyFile(documents.database.path.parent / NAME, documents.clock)
    file.open(documents.database, "full")
    return Sharing(file, documents, graph, EgressMeter(Ledger(documents.database, documents.clock), documents.clock))
