"""Which layout a GGUF architecture fixes, as llama.cpp rotates it (llama_model_rope_type)."""

from __future__ import annotations

from rope_lib.layout import Layout

_INTERLEAVED = """
arcee arctic baichuan bailingmoe chameleon chatglm cohere2 cohere2moe command-r deci deepseek
deepseek2 deepseek2-ocr deepseek32 ernie4_5 ernie4_5-moe glm-dsa glm4 granite granitehybrid
granitemoe internlm2 llada llama llama-embed llama4 maincoder minicpm mistral3 mistral4 nanbeige
neo-bert olmo plm smollm3 starcoder xverse
"""
_HALF = """
afmoe apertus bailingmoe2 bert bitnet codeshell cogvlm dbrx dots1 dream eurobert exaone exaone-moe
exaone4 falcon falcon-h1 gemma gemma-embedding gemma2 gemma3 gemma3n gemma4 glm4moe gpt-oss gptneox
grok grovemoe hunyuan-dense hunyuan-moe jais2 jina-bert-v3 laguna lfm2 lfm2moe llada-moe mimo2
minicpm3 minimax-m2 modern-bert nemotron nomic-bert nomic-bert-moe olmo2 olmoe openelm orion
paddleocr pangu-embedded phi2 phi3 phimoe plamo plamo2 plamo3 qwen qwen2 qwen2moe qwen2vl qwen3
qwen3moe qwen3next rnd1 seed_oss smallthinker stablelm starcoder2 step35
"""
INTERLEAVED = frozenset(_INTERLEAVED.split())
HALF = frozenset(_HALF.split())
INTERLEAVED_AXES = frozenset(("qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe"))
"""These pair channels in halves, and let the axes of a position alternate pair by pair."""

PLAIN_SLIDING = frozenset(("gemma3", "gemma3n", "gemma-embedding"))
"""Their sliding layers turn by base 10 000 without scaling; the metadata need not say so."""


def layout_of(architecture: str) -> Layout | None:
    """The layout of the architecture's query and key rows, or None where it is not known."""
    if architecture in INTERLEAVED:
        return "interleaved"
    return "half" if architecture in HALF | INTERLEAVED_AXES else None
