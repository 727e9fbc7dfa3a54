"""What an answer took."""

from antiphon_client.answers import ApiObject


class PromptTokensDetails(ApiObject, frozen=True, kw_only=True, dict=True):
    """Of the prompt's tokens."""

    cached_tokens: int = 0
    audio_tokens: int = 0


class CompletionTokensDetails(ApiObject, frozen=True, kw_only=True, dict=True):
    """Of the answer's tokens."""

    reasoning_tokens: int = 0
    audio_tokens: int = 0


class Usage(ApiObject, frozen=True, kw_only=True, dict=True):
    """Tokens, as the model that answered counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    prompt_tokens_details: PromptTokensDetails | None = None
    completion_tokens_details: CompletionTokensDetails | None = None

    @property
    def cached_tokens(self) -> int:
        """Of the prompt's tokens, those that the model read from its prefix cache."""
        return self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else 0

    @property
    def reasoning_tokens(self) -> int:
        """Of the answer's tokens, those that were spent on reasoning."""
        return self.completion_tokens_details.reasoning_tokens if self.completion_tokens_details else 0
