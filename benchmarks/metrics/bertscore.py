"""BERTScore recall (DGRAG §IV-B), by the library ``bert-score`` of the extra ``bertscore``, with any encoder model by name or folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from benchmarks.errors import BenchmarkError

BertScore: TypeAlias = Callable[[Sequence[str], Sequence[str]], list[float]]  # answers, references -> recall of each


def bertscore(model: str) -> BertScore:
    """Return a function from answers and references, pair by pair, to BERTScore recalls, [-1, 1], not rescaled.

    ``model``: a name (``roberta-large`` is the library's own choice for English) or a folder with a transformer's configuration, weights
    and tokenizer. The layer is the library's for models that it knows, else the last. A pair with a blank text scores 0. A text is cut
    at the model's limit. Raises BenchmarkError where the library or the model cannot be had.
    """
    try:
        from bert_score import BERTScorer
        from bert_score.utils import model2layers
        from transformers import AutoConfig

        # who runs it names the model, as for bert-score itself; only the number of its layers is read here
        layers = model2layers.get(model) or AutoConfig.from_pretrained(model).num_hidden_layers  # nosec B615
        scorer = BERTScorer(model_type=model, num_layers=layers, batch_size=16)
    except ImportError as error:
        raise BenchmarkError(f"{error.name} is not installed", next_step="run `pip install 'dgrag[bertscore]'`") from error
    except (OSError, ValueError) as error:
        why = str(error).partition("\n")[0].rstrip(".")
        raise BenchmarkError(f"no model {model!r} ({why})", next_step="fetch it, or name the folder that holds it") from error

    def recall(answers: Sequence[str], references: Sequence[str]) -> list[float]:
        pairs = list(zip(answers, references, strict=True))
        worded = [place for place, pair in enumerate(pairs) if all(text.strip() for text in pair)]
        recalls = [0.0] * len(pairs)
        if worded:
            _, scores, _ = scorer.score([pairs[place][0] for place in worded], [pairs[place][1] for place in worded])
            for place, score in zip(worded, scores.tolist(), strict=True):
                recalls[place] = float(score)
        return recalls

    return recall
