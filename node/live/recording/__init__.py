"""Records actions as the steps of a session."""

from node.live.recording.arrivals import Arrival
from node.live.recording.document import document_of
from node.live.recording.following import Earlier, StepComparison, Unlike
from node.live.recording.keeping import Recording, covering_on
from node.live.recording.manifests import as_told, same_row
from node.live.recording.pictures import compacted, data_address
from node.live.recording.recorder import Recorder
from node.live.recording.run import record, record_actions
from node.live.recording.signer import Signer

__all__ = [
    "Arrival",
    "Earlier",
    "Recorder",
    "Recording",
    "Signer",
    "StepComparison",
    "Unlike",
    "as_told",
    "compacted",
    "covering_on",
    "data_address",
    "document_of",
    "record",
    "record_actions",
    "same_row",
]
