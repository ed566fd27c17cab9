"""How much faster a pruned model translates than the gated one it came from. Called by 2_prune.sh.

Both translate the same batches in turns; CPU time, so that what else the machine does matters little.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch

from fairseq_normalign.hosts.fairseq.loading import load_models
from fairseq_normalign.hosts.fairseq.patches import import_user_dirs
from fairseq_normalign.hosts.loading import silenced


def batches(task: Any, max_tokens: int) -> list[dict[str, Any]]:
    task.load_dataset("test")
    return list(task.get_batch_iterator(task.dataset("test"), max_tokens=max_tokens).next_epoch_itr(shuffle=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gated")
    parser.add_argument("pruned")
    parser.add_argument("--data", required=True)
    parser.add_argument("--beam", type=int, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    import_user_dirs([str(Path(__file__).parent.parent / "common" / "normalign_training")])
    with silenced():
        loaded = [
            load_models(path, data=args.data, options={"dataset_impl": None}) for path in (args.gated, args.pruned)
        ]
        options = argparse.Namespace(beam=args.beam, print_alignment=None)
        generators = [one.task.build_generator(one.models, options) for one in loaded]
        samples = batches(loaded[0].task, max_tokens=2000)
        seconds = [0.0, 0.0]
        for number, sample in enumerate([samples[0], *samples]):  # the first time does not count
            for which, (one, generator) in enumerate(zip(loaded, generators, strict=True)):
                before = time.process_time()
                one.task.inference_step(generator, one.models, sample)
                seconds[which] += (time.process_time() - before) * (number > 0)
    print(f"{seconds[0] / seconds[1]:.3f}")


if __name__ == "__main__":
    main()
