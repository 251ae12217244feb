"""A GGUF file as a folder of safetensors, which is what vLLM loads: ``python -m deploy.tools.to_safetensors MODEL.gguf FOLDER``.

It needs ``transformers``, ``gguf``, ``accelerate`` and ``torch``, which the project itself does not have: docs/vllm.md says how to
make an environment for it. What the quantisation lost stays lost: this is for trying a server, not for getting weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

SHARED_HEAD = "lm_head.weight"  # where the embeddings serve as output layer too: one tensor under two names, which the format refuses


def convert(gguf: Path, folder: Path, dtype: torch.dtype) -> None:
    """Write weights, configuration and tokenizer with its chat template into ``folder``. Raises FileExistsError where it is taken.

    ``save_pretrained`` of a model would be shorter, and transformers 5 refuses it for models that came from GGUF.
    """
    folder.mkdir(parents=True)
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(**source, dtype=dtype, quantization_config=GgufConfig(dequantize=True))  # nosec B615 - a local file
    tied = model.config.tie_word_embeddings
    tensors = {name: tensor.to(dtype).contiguous() for name, tensor in model.state_dict().items() if not (tied and name == SHARED_HEAD)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    model.config.dtype = dtype
    model.config.architectures = [type(model).__name__]  # GGUF does not say it, and vLLM would take the model without its head
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)  # nosec B615


def main(arguments: Sequence[str] | None = None) -> None:
    """Convert what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m deploy.tools.to_safetensors", description="a GGUF file as a folder for vLLM")
    parser.add_argument("gguf", type=Path, help="file of a model that transformers can read")
    parser.add_argument("folder", type=Path, help="a new folder")
    parser.add_argument("--dtype", choices=("bfloat16", "float16", "float32"), default="bfloat16")
    options = parser.parse_args(arguments)
    convert(options.gguf, options.folder, getattr(torch, options.dtype))


if __name__ == "__main__":
    main()
