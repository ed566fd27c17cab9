# %% [markdown]
# # From a model to a picture
#
# This notebook runs on the toy that ships with the package: two tiny German-English models of a made-up grammar, 100
# sentence pairs and their gold alignment. Put the paths of your own models in their place.

# %%
from pathlib import Path

import fairseq_normalign as normalign
from fairseq_normalign import toy

folder = Path("toy")
if not folder.exists():
    toy.copy_to(folder)
sorted(path.name for path in folder.iterdir())

# %% [markdown]
# ## Load both directions
#
# The text is raw, the models know lower-case Moses tokens.

# %%
model = normalign.load(
    folder / "de-en.pt", reverse=folder / "en-de.pt", bpe_codes=folder / "codes", tokenizer="moses", lowercase=True
)
model.expert.label

# %% [markdown]
# ## Align one pair
#
# An alignment shows itself as a grid: framed cells are links, the shade is what they were decided by.

# %%
alignment = model.align("Wir werden seiner Regierung morgen helfen.", "We will help its government tomorrow.")
alignment

# %%
print(alignment.draw())

# %%
[(alignment.source[s], alignment.target[t], round(c, 2)) for (s, t), c in zip(alignment.links, alignment.confidence)]

# %% [markdown]
# ## Align many, and score them


# %%
def lines(name):
    return (folder / name).read_text(encoding="utf-8").splitlines()


alignments = list(model.align_many(zip(lines("text.de"), lines("text.en"))))
golds = normalign.read_gold(folder / "gold.talp", base=1)
both = normalign.score(golds, [alignment.links for alignment in alignments])
f"AER {100 * both.aer:.1f}, precision {100 * both.precision:.1f}, recall {100 * both.recall:.1f}"

# %% [markdown]
# ## What each step gives
#
# The same text with less: weights at the output, norms at the input, two looks of one model.

# %%
text = {"bpe_codes": folder / "codes", "tokenizer": "moses", "lowercase": True}
steps = {
    "weights, top layer, AWO": {"method": "weights", "layer": 3, "step": "awo"},
    "norms, layer 1, AWI": {"layer": 1, "step": "awi"},
    "two looks": {},
}
rows = []
for name, options in steps.items():
    one = normalign.load(folder / "de-en.pt", **text, **options)
    links = [found.links for found in one.align_many(zip(lines("text.de"), lines("text.en")))]
    rows.append((name, round(100 * normalign.score(golds, links).aer, 1)))
rows.append(("two looks, both directions", round(100 * both.aer, 1)))
rows

# %% [markdown]
# ## Draw the worst one
#
# The sentence with most links that are no gold links, as a figure.

# %%
wrong = [len(set(found.links) - set(gold.possible)) for found, gold in zip(alignments, golds)]
worst = max(range(len(wrong)), key=wrong.__getitem__)
alignments[worst].draw("worst.png")
alignments[worst]
