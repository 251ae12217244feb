"""A sharing policy of a store whose file stands beside it."""

from edge_node.policy.file import NAME, PolicyFile
from edge_node.policy.meter import Meter
from edge_node.policy.sharing import Sharing
from edge_node.store.ledger import Ledger


def sharing_of(documents, graph):
    """The standard policy until the file says otherwise."""
    file = PolicyFile(documents.database.path.parent / NAME, documents.database, documents.clock)
    file.open()
    return Sharing(file, documents, graph, Meter(Ledger(documents.database, documents.clock), documents.clock))
