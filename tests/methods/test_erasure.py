import torch

from fairseq_normalign.methods.erasure import Erasure


def scored(model, source, target, embeddings=None):
    """The log-probabilities of one target, by the model's own forward pass: [T + 1]."""
    words = model.decoder.dictionary
    previous = torch.cat([torch.tensor([words.eos()]), target])[None]
    outputs = torch.cat([target, torch.tensor([words.eos()])])
    with torch.no_grad():
        encoder_out = model.encoder(source[None], torch.tensor([len(source)]), token_embeddings=embeddings)
        logits, _ = model.decoder(previous, encoder_out=encoder_out)
    return torch.log_softmax(logits[0], -1)[torch.arange(len(outputs)), outputs]


def sentences(batch, model):
    for number, (target, row) in enumerate(zip(batch.targets, batch.rows, strict=True)):
        source = batch.encoder_input["src_tokens"][row]
        yield number, source[source.ne(model.encoder.padding_idx)], target


def test_zero_embedding_equals_recomputation_by_hand(model, view, batch):
    found = Erasure().run(view, [])[0]
    for number, source, target in sentences(batch, model):
        whole = scored(model, source, target)
        first = found.size(2) - len(source)  # padding is on the left
        for place in range(len(source)):
            embeddings = model.encoder.embed_tokens(source[None]).clone()
            embeddings[0, place] = 0
            loss = whole - scored(model, source, target, embeddings)
            torch.testing.assert_close(found[number, : len(target) + 1, first + place], loss)
        assert bool((found[number, :, :first] == 0).all())


def test_removal_equals_a_shorter_sentence(model, view, batch):
    found = Erasure("remove").run(view, [])[0]
    for number, source, target in sentences(batch, model):
        whole = scored(model, source, target)
        first = found.size(2) - len(source)
        for place in range(len(source)):
            loss = whole - scored(model, torch.cat([source[:place], source[place + 1 :]]), target)
            torch.testing.assert_close(found[number, : len(target) + 1, first + place], loss)
