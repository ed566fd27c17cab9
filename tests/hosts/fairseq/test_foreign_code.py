"""Architectures and tasks of a user's own user-dir, and decoders with cross-attention of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.conftest import PACKAGE, lines_of, run, succeed
from tests.hosts.fairseq.published_shapes import TINY, Shape, binarize, generate, train

PLAIN = """
from fairseq.models import register_model, register_model_architecture
from fairseq.models.transformer import TransformerModel
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask


@register_model("their_transformer")
class TheirTransformer(TransformerModel):
    pass


@register_model_architecture("their_transformer", "their_tiny")
def their_tiny(args):
    args.activation_fn = getattr(args, "activation_fn", "gelu")
    from fairseq.models.transformer.transformer_legacy import base_architecture

    base_architecture(args)


@register_task("their_task", dataclass=TranslationConfig)
class TheirTask(TranslationTask):
    pass
"""
ONE_READING = ["--layer", "1", "--step", "awi"]


@pytest.fixture(scope="module")
def foreign(tmp_path_factory) -> Shape:
    """Trained with a user-dir that knows nothing of us."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "their_code").mkdir()
    (folder / "their_code" / "__init__.py").write_text(PLAIN, encoding="utf-8")
    data = binarize(folder, ("de", "en"), spm=False)
    arch = ["--task", "their_task", "--arch", "their_tiny", "-s", "de", "-t", "en", "--user-dir", folder / "their_code"]
    succeed("fairseq-train", data, "--save-dir", folder / "out", *TINY, *arch)
    checkpoint = folder / "out" / "checkpoint_last.pt"
    return Shape(data, checkpoint, "their_task", "de", "en", post_process="subword_nmt")


def command(shape: Shape, out: Path) -> list[str]:
    folder = shape.data.parent
    files = ["--source", folder / "test.de", "--target", folder / "test.en", "-o", out]
    return list(map(str, ["--path", shape.checkpoint, "--data", shape.data, "--cpu", *files, *ONE_READING]))


def test_without_their_code_one_line_names_what_is_missing(foreign, tmp_path):
    result = run("normalign", "align", *command(foreign, tmp_path / "links"))
    assert result.returncode == 2
    assert result.stderr.strip().endswith(
        "its task 'their_task' is not known here; load the user-dir that it belongs to"
    )
    assert "\n" not in result.stderr.strip()
    state = torch.load(foreign.checkpoint, weights_only=False)
    state["cfg"]["task"]["_name"] = state["cfg"]["model"].task = "translation"
    torch.save(state, tmp_path / "arch.pt")
    result = run("normalign", "align", *command(replace(foreign, checkpoint=tmp_path / "arch.pt"), tmp_path / "links"))
    assert result.returncode == 2
    assert "its architecture 'their_tiny' is not known here" in result.stderr
    generated = run(
        *("fairseq-generate", foreign.data, "--user-dir", PACKAGE, "--task", "translation_normalign", "--cpu"),
        *("--path", foreign.checkpoint, "-s", "de", "-t", "en"),
    )
    assert generated.returncode == 2
    assert "its architecture 'their_tiny' is not known here" in generated.stderr
    assert "Traceback" not in generated.stderr


def test_their_user_dir_makes_it_known(foreign, tmp_path):
    folder = foreign.data.parent / "their_code"
    succeed("normalign", "align", "--user-dir", folder, *command(foreign, tmp_path / "after"))
    succeed("normalign", "--user-dir", folder, "align", *command(foreign, tmp_path / "before"))
    lines = (tmp_path / "after").read_text(encoding="utf-8").split("\n")[:-1]
    assert len(lines) == 20
    assert all(lines)
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    missing = run("normalign", "align", "--user-dir", tmp_path / "nowhere", *command(foreign, tmp_path / "x"))
    assert missing.returncode == 2
    assert "nowhere: no such user-dir" in missing.stderr


def test_both_user_dirs_in_one_command_of_fairseq(foreign, tmp_path):
    """The way of the documentation: a folder that imports both, and their task with alignments."""
    both = tmp_path / "both"
    both.mkdir()
    (both / "__init__.py").write_text(
        "import sys\n"
        f"sys.path[:0] = [{str(PACKAGE.parent)!r}, {str(foreign.data.parent)!r}]\n"
        "import fairseq_normalign\nimport their_code\n"
        "fairseq_normalign.add_alignments('their_task')\n",
        encoding="utf-8",
    )
    generated = succeed(
        *("fairseq-generate", foreign.data, "--user-dir", both, "--task", "their_task_normalign", "--cpu"),
        *("--path", foreign.checkpoint, "-s", "de", "-t", "en", "--score-reference", "--post-process", "subword_nmt"),
        *("--print-alignment", "hard", "--normalign-layer", 1, "--normalign-step", "awi"),
    ).stdout
    succeed(
        "normalign", "align", "--user-dir", foreign.data.parent / "their_code", *command(foreign, tmp_path / "links")
    )
    lines = (tmp_path / "links").read_text(encoding="utf-8").split("\n")[:-1]
    assert [lines_of(generated, "A")[number][0] for number in range(20)] == lines


def test_lightconv_is_read_where_its_parts_add_up(tmp_path):
    data = binarize(tmp_path, ("de", "en"), spm=False)
    conv = ["--encoder-conv-type", "lightweight", "--decoder-conv-type", "lightweight", "--encoder-glu", "0"]
    conv += ["--encoder-conv-dim", "16", "--decoder-conv-dim", "16", "--weight-dropout", "0"]
    conv += ["--encoder-kernel-size-list", "[3]", "--decoder-kernel-size-list", "[3,3]", "--decoder-glu", "0"]
    way = ["--task", "translation", "-s", "de", "-t", "en"]
    shape = Shape(data, train(data, tmp_path / "out", *way, "--arch", "lightconv", *conv), "translation", "de", "en")
    ours = generate(shape, "translation_normalign", "--print-alignment", "hard", "--normalign-self-test")
    assert len(lines_of(ours, "A")) == 20
    from fairseq_normalign.cli import main

    assert main(["align", *command(shape, tmp_path / "links"), "--self-test"]) == 0
    assert main(["align", *command(shape, tmp_path / "links")[:-4], "--method", "gradient"]) == 2
