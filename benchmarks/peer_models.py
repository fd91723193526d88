"""samegrad's two models in PyTorch, in three forms that people use; parameters have the same names and values in all.

padded     nn.TransformerEncoder with masks, as most write it
sdpa       the same layers written out with scaled_dot_product_attention, whose masks are as small as they can be
packed     linear layers on real tokens only, scaled_dot_product_attention sample by sample

forward() takes a batch of make_batch() and returns logits and targets of equal length.
"""

import torch
from torch import nn
from torch.nn import functional

IGNORE = -100


class Layers(nn.Module):
    """Holds the parameters under the names of nn.TransformerEncoder."""

    def __init__(self, config):
        super().__init__()
        self.causal = config["kind"] == "decoder"
        self.heads = config["heads"]
        width = config["width"]
        layer = nn.TransformerEncoderLayer(
            width, config["heads"], config["feed_forward"], dropout=0.0, activation="gelu", batch_first=True,
            norm_first=self.causal)
        stack = nn.TransformerEncoder(layer, config["layers"], enable_nested_tensor=False)
        self.token = nn.Embedding(config["vocabulary"], width)
        self.position = nn.Embedding(config["positions"], width)
        if self.causal:
            self.decoder = stack
            self.norm = nn.LayerNorm(width)
        else:
            self.encoder = stack
        self.head = nn.Linear(width, config["vocabulary"] if self.causal else config["classes"])

    def stack(self):
        return self.decoder if self.causal else self.encoder

    def logits(self, hidden):
        return self.head(self.norm(hidden) if self.causal else hidden)

    def run_layers(self, hidden, mix):
        """`mix`: from queries, keys and values [..., 3 width] to the mixed values [..., width]."""
        for layer in self.stack().layers:
            attention = layer.self_attn

            def attend(x):
                return attention.out_proj(mix(functional.linear(x, attention.in_proj_weight, attention.in_proj_bias)))

            def feed(x):
                return layer.linear2(functional.gelu(layer.linear1(x)))

            if self.causal:
                hidden = hidden + attend(layer.norm1(hidden))
                hidden = hidden + feed(layer.norm2(hidden))
            else:
                hidden = layer.norm1(hidden + attend(hidden))
                hidden = layer.norm2(hidden + feed(hidden))
        return hidden


class Padded(Layers):
    def forward(self, batch):
        tokens, targets, lengths = batch
        longest = tokens.shape[1]
        hidden = self.token(tokens) + self.position(torch.arange(longest))
        padding = torch.arange(longest) >= lengths[:, None]
        if self.causal:
            later = torch.ones(longest, longest, dtype=torch.bool).triu(1)
            hidden = self.decoder(hidden, mask=later, src_key_padding_mask=padding)
        else:
            hidden = self.encoder(hidden, src_key_padding_mask=padding)
        return self.logits(hidden).flatten(0, 1), targets.flatten()


class Sdpa(Layers):
    def forward(self, batch):
        tokens, targets, lengths = batch
        rows, longest = tokens.shape
        mask = None
        if not self.causal:  # padding stands behind the tokens, where a causal token does not look anyway
            mask = (torch.arange(longest) < lengths[:, None])[:, None, None, :]

        def mix(qkv):
            q, k, v = qkv.view(rows, longest, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
            return mixed.transpose(1, 2).reshape(rows, longest, -1)

        hidden = self.token(tokens) + self.position(torch.arange(longest))
        return self.logits(self.run_layers(hidden, mix)).flatten(0, 1), targets.flatten()


class Packed(Layers):
    def forward(self, batch):
        tokens, positions, targets, lengths = batch

        def mix(qkv):
            parts = qkv.view(len(tokens), 3, self.heads, -1).permute(1, 2, 0, 3).split(lengths, 2)
            mixed = [functional.scaled_dot_product_attention(*part.unsqueeze(1), is_causal=self.causal) for part in parts]
            return torch.cat([one.squeeze(0).transpose(0, 1).flatten(1) for one in mixed])

        hidden = self.token(tokens) + self.position(positions)
        return self.logits(self.run_layers(hidden, mix)), targets


MODELS = {"padded": Padded, "sdpa": Sdpa, "packed": Packed}


def make_batch(form, samples):
    """`samples`: (tokens, targets) pairs."""
    lengths = [len(tokens) for tokens, _ in samples]
    if form == "packed":
        flat = [torch.tensor([value for sample in samples for value in sample[part]]) for part in (0, 1)]
        return flat[0], torch.cat([torch.arange(length) for length in lengths]), flat[1], lengths
    longest = max(lengths)
    tokens = torch.tensor([row + [0] * (longest - len(row)) for row, _ in samples])
    targets = torch.tensor([row + [IGNORE] * (longest - len(row)) for _, row in samples])
    return tokens, targets, torch.tensor(lengths)


def loss_sum(model, batch):
    logits, targets = model(batch)
    return functional.cross_entropy(logits, targets, ignore_index=IGNORE, reduction="sum")
