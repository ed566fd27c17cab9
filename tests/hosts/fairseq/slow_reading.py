"""The slow, obvious reading of a stock fairseq model on its own dataset: the oracle for tasks, loader and alignments.

Everything around the sentences comes from the stock task (its dataset puts the tags there), the norms from the whole
tensor of all heads, and the words from the marks of the pieces.
"""

from __future__ import annotations

import re
from typing import Any

import torch

TAG = re.compile(r"__\w+__|\[\w+\]|</s>|<s>")


def stock_task(shape: Any, name: str) -> Any:
    """The task as fairseq's own command line makes it, with the test split."""
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    arguments = [str(shape.data), "--task", name, "--path", "x", "-s", shape.source, "-t", shape.target, *shape.flags]
    args = options.parse_args_and_arch(options.get_generation_parser(), input_args=arguments)
    task = tasks.setup_task(convert_namespace_to_omegaconf(args).task)
    task.load_dataset("test")
    return task


def stock_samples(task: Any, count: int = 20) -> list[dict[str, Any]]:
    """One batch per sentence, in order."""
    dataset = task.dataset("test")
    if hasattr(dataset, "eval_key") and hasattr(dataset, "longest_dataset"):
        dataset = dataset.datasets[dataset.eval_key]
    return [dataset.collater([dataset[number]]) for number in range(count)]


def stock_model(shape: Any, task: Any) -> Any:
    """The model of the direction, as fairseq loads it."""
    from fairseq import checkpoint_utils

    (model,), _ = checkpoint_utils.load_model_ensemble([str(shape.checkpoint)], task=task)
    parts = getattr(model, "models", None)
    return model if parts is None else parts[f"{shape.source}-{shape.target}"]


def slow_links(model: Any, dictionary: Any, sample: dict[str, Any], layer: int = 0) -> list[tuple[int, int]]:
    """Word links of one sentence pair by the norms of a layer, where each word is the input (AWI)."""
    tokens = sample["net_input"]
    source = [dictionary[index] for index in tokens["src_tokens"][0].tolist()]
    target = [dictionary[index] for index in tokens["prev_output_tokens"][0].tolist()]
    norms = slow_norms(model, tokens, layer)
    rows, columns = words_of(target), words_of(source)
    links = []
    for number, row in enumerate(rows):
        merged = [float(norms[row][:, column].sum(1).mean()) for column in columns]
        links.append((merged.index(max(merged)), number))
    return sorted(links)


def words_of(pieces: list[str]) -> list[list[int]]:
    """The positions of the pieces of each word."""
    words: list[list[int]] = []
    inside = False
    for position, piece in enumerate(pieces):
        if TAG.fullmatch(piece):
            inside = False
            continue
        starts = piece.startswith("▁") or not inside
        inside = piece.endswith("@@") or any("▁" in other for other in pieces)
        if starts:
            words.append([])
        words[-1].append(position)
    return words


def slow_norms(model: Any, tokens: dict[str, Any], layer: int) -> torch.Tensor:
    """[T, S]: the length of the sum over heads of weight times transformed vector, built as one big tensor."""
    attention = model.decoder.layers[layer].encoder_attn
    seen: dict[str, torch.Tensor] = {}

    def catch(module: Any, args: tuple, kwargs: dict) -> None:
        seen.update(query=kwargs["query"][:, 0], key=kwargs["key"][:, 0])

    handle = attention.register_forward_pre_hook(catch, with_kwargs=True)
    model.eval()
    with torch.no_grad():
        encoded = model.encoder(tokens["src_tokens"], tokens["src_lengths"])
        model.decoder(tokens["prev_output_tokens"], encoder_out=encoded)
        handle.remove()
        heads, width = attention.num_heads, attention.head_dim
        split = [
            projection(side).view(-1, heads, width)
            for projection, side in (
                (attention.q_proj, seen["query"]),
                (attention.k_proj, seen["key"]),
                (attention.v_proj, seen["key"]),
            )
        ]
        scores = torch.einsum("thd,shd->hts", split[0], split[1]) / width**0.5
        weights = scores.softmax(-1)
        out = attention.out_proj.weight.view(-1, heads, width)
        transformed = torch.einsum("shd,chd->hsc", split[2], out)
        return (weights[..., None] * transformed[:, None]).sum(0).norm(dim=-1)
