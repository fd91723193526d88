"""samegrad's two models as PyTorch has them: the independent side of the oracle tests."""

import torch


class TorchModel(torch.nn.Module):
    """The names of its parameters are samegrad's; the layers are PyTorch's own."""

    def __init__(self, config):
        super().__init__()
        self.causal = config["kind"] == "decoder"
        width = config["width"]
        layer = torch.nn.TransformerEncoderLayer(
            width, config["heads"], config["feed_forward"], dropout=0.0, activation="gelu", batch_first=True,
            norm_first=self.causal)
        layers = torch.nn.TransformerEncoder(layer, config["layers"], enable_nested_tensor=False)
        self.token = torch.nn.Embedding(config["vocabulary"], width)
        self.position = torch.nn.Embedding(config["positions"], width)
        if self.causal:
            self.decoder = layers
            self.norm = torch.nn.LayerNorm(width)
        else:
            self.encoder = layers
        self.head = torch.nn.Linear(width, config["vocabulary"] if self.causal else config["classes"])

    def forward(self, ids, padding):
        length = ids.shape[1]
        x = self.token(ids) + self.position(torch.arange(length))
        if not self.causal:
            return self.head(self.encoder(x, src_key_padding_mask=padding))
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        return self.head(self.norm(self.decoder(x, mask=later, src_key_padding_mask=padding)))
