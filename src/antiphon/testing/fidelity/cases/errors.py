"""Errors that the model's server tells by a status, and those of the caller."""

from antiphon.testing.fidelity.case import MARK, MODEL, Act, Case, Group, RetryOn, Scene
from antiphon.testing.fidelity.checks import error_has, error_says, fails, has_error_object, retry_after
from antiphon.testing.fidelity.words.errors import page, refusal, told
from antiphon.testing.fidelity.words.openai import answers, ask, stream, whole
from antiphon.testing.steps import Body, Header, Status, Wire

LONG = "This model's maximum context length is 8192 tokens, and your messages came to 9001."
WORDS = "The engines are cooling down."
SERVER_FAULTS = (500, 502, 503, 504, 529)
TOO_LONG = refusal(400, LONG, param="messages", code="context_length_exceeded")


def _bare(status: int, *acts: Act) -> Scene:
    return Scene((Status(status), *acts))


ERRORS = Group(
    name="error",
    title="Errors",
    about="Programs decide by status and code whether to try again, to shorten the question or to give up, and "
    "people read the message. So what the model's server said has to arrive, and what goes wrong without its "
    "words has to be told in the documented shape. A status of 500 and more may become another one of those; "
    "credentials of the gateway are its own business, so a 401 or 403 of the server may become any error.",
    sources=(
        "OpenAI guide, Error codes: https://platform.openai.com/docs/guides/error-codes",
        "The error object {message, type, param, code}: https://github.com/openai/openai-openapi, schema `Error`",
    ),
    cases=(
        Case(
            id="error-400",
            right="A 400 of the model's server is a 400.",
            body=ask(),
            scene=TOO_LONG,
            checks=(fails(400),),
        ),
        Case(
            id="error-400-object",
            right="A 400 has an error object with a message.",
            body=ask(),
            scene=TOO_LONG,
            checks=(fails(400), has_error_object),
        ),
        Case(
            id="error-400-message",
            right="The message of a 400 arrives.",
            body=ask(),
            scene=TOO_LONG,
            checks=(fails(400), error_says(LONG)),
        ),
        Case(
            id="error-400-code",
            right="The code of a 400 arrives: programs shorten the question at `context_length_exceeded`.",
            body=ask(),
            scene=TOO_LONG,
            checks=(fails(400), error_has(code="context_length_exceeded")),
        ),
        Case(
            id="error-400-param",
            right="The parameter that a 400 names arrives.",
            body=ask(),
            scene=TOO_LONG,
            checks=(fails(400), error_has(param="messages")),
        ),
        Case(
            id="error-400-type",
            right="The type of a 400 arrives.",
            body=ask(),
            scene=TOO_LONG,
            checks=(fails(400), error_has(type="invalid_request_error")),
        ),
        Case(
            id="error-400-stream",
            right="A 400 where a stream was asked for is a 400, and no stream with status 200.",
            body=stream(),
            scene=TOO_LONG,
            checks=(fails(400),),
        ),
        Case(
            id="error-404",
            right="A 404 of the model's server is a 404.",
            body=ask(),
            scene=refusal(404, "The model does not exist.", code="model_not_found"),
            checks=(fails(404),),
        ),
        Case(
            id="error-422",
            right="A 422 of the model's server is a 422, or a 400.",
            body=ask(),
            scene=refusal(422, "It cannot be processed."),
            checks=(fails(422, 400),),
        ),
        Case(
            id="error-429",
            right="A 429 of the model's server is a 429.",
            body=ask(),
            scene=refusal(429, "Slow down.", kind="requests", code="rate_limit_exceeded"),
            checks=(fails(429),),
        ),
        Case(
            id="error-429-stream",
            right="A 429 where a stream was asked for is a 429.",
            body=stream(),
            scene=refusal(429, "Slow down.", kind="requests", code="rate_limit_exceeded"),
            checks=(fails(429),),
        ),
        Case(
            id="error-429-quota",
            right="`insufficient_quota`, at which it makes no sense to try again, can be told from a rate limit.",
            body=ask(),
            scene=refusal(429, "You exceeded your quota.", kind="insufficient_quota", code="insufficient_quota"),
            checks=(fails(429), error_has(code="insufficient_quota")),
        ),
        Case(
            id="error-401",
            right="That the server refuses the gateway's key is an error.",
            body=ask(),
            scene=refusal(401, "Incorrect API key provided.", code="invalid_api_key"),
            checks=(fails(401, 403, *SERVER_FAULTS),),
        ),
        Case(
            id="error-500",
            right="A 500 is an error of the server's side.",
            body=ask(),
            scene=refusal(500, WORDS, kind="server_error"),
            checks=(fails(*SERVER_FAULTS),),
        ),
        Case(
            id="error-503",
            right="A 503 is an error of the server's side.",
            body=ask(),
            scene=refusal(503, WORDS, kind="server_error"),
            checks=(fails(*SERVER_FAULTS),),
        ),
        Case(
            id="error-503-stream",
            right="A 503 where a stream was asked for is an error of the server's side.",
            body=stream(),
            scene=refusal(503, WORDS, kind="server_error"),
            checks=(fails(*SERVER_FAULTS),),
        ),
        Case(
            id="error-500-message",
            right="The message of a 500 arrives.",
            body=ask(),
            scene=refusal(500, WORDS, kind="server_error"),
            checks=(fails(*SERVER_FAULTS), error_says(WORDS)),
        ),
        Case(
            id="error-429-message",
            right="The message of a 429 arrives, also where a stream was asked for.",
            body=stream(),
            scene=refusal(429, "Slow down.", kind="requests", code="rate_limit_exceeded"),
            checks=(fails(429), error_says("Slow down.")),
        ),
        Case(
            id="error-of-gateway",
            right="What the gateway itself says of a request that is no JSON is an error object with a message.",
            body=b'{"model": "' + MODEL.encode() + b'", "messages": [',
            scene=whole(),
            checks=(has_error_object,),
        ),
        Case(
            id="error-page",
            right="An HTML page of a proxy in front of the model's server becomes an error in JSON.",
            body=ask(),
            scene=page(502, "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"),
            checks=(fails(*SERVER_FAULTS), has_error_object),
        ),
        Case(
            id="error-page-stream",
            right="An HTML page in place of a stream becomes an error in JSON.",
            body=stream(),
            scene=page(502, "<html><body>502 Bad Gateway</body></html>"),
            checks=(fails(*SERVER_FAULTS), has_error_object),
        ),
        Case(
            id="error-empty",
            right="An error without a body becomes one with an error object.",
            body=ask(),
            scene=_bare(500, Body(b"")),
            checks=(fails(*SERVER_FAULTS), has_error_object),
        ),
        Case(
            id="error-words",
            right="An error in plain words becomes one with an error object.",
            body=ask(),
            scene=_bare(503, Header("content-type", "text/plain"), Body("upstream connect error")),
            checks=(fails(*SERVER_FAULTS), has_error_object),
        ),
        Case(
            id="error-string",
            right="`error` as a text becomes an object, and its words arrive.",
            body=ask(),
            scene=_bare(400, Body({"error": "model is loading"})),
            checks=(fails(400), error_says("model is loading")),
        ),
        Case(
            id="error-detail",
            right="`detail`, as servers made with FastAPI answer, becomes an error object, and its words arrive.",
            body=ask(),
            scene=_bare(400, Body({"detail": "max_tokens is too large"})),
            checks=(fails(400), error_says("max_tokens is too large")),
        ),
        Case(
            id="error-flat",
            right="An error object without `error` around it, as older servers of open models answer, gets it, and "
            "its words arrive.",
            body=ask(),
            scene=_bare(
                400,
                Body({"object": "error", "message": "prompt is too long", "type": "BadRequestError", "param": None, "code": 400}),
            ),
            checks=(fails(400), error_says("prompt is too long")),
        ),
        Case(
            id="error-under-200",
            right="An error object that comes with status 200 is an error.",
            body=ask(),
            scene=answers(told("The model is overloaded.")),
            checks=(fails(400, 429, *SERVER_FAULTS), error_says("The model is overloaded.")),
        ),
        Case(
            id="error-half-json",
            right="An answer that is half a JSON object is an error of the server's side.",
            body=ask(),
            scene=Scene((Header("content-type", "application/json"), Body('{"id":"chatcmpl-1","object":"chat.comp'))),
            checks=(fails(*SERVER_FAULTS),),
        ),
        Case(
            id="error-model",
            right="A model that nobody knows is refused.",
            body={"model": "no-such-model-anywhere", **ask()},
            scene=refusal(404, "There is no such model.", code="model_not_found"),
            checks=(fails(400, 403, 404),),
        ),
        Case(
            id="error-json",
            right="A request that is no JSON is refused with 400.",
            body=b'{"model": "' + MODEL.encode() + b'", "messages": [',
            scene=whole(),
            checks=(fails(400),),
        ),
        Case(
            id="error-no-messages",
            right="A request without messages is refused with 400, by the gateway or by the model's server.",
            body={"user": MARK},
            scene=refusal(400, "Missing required parameter: 'messages'.", param="messages"),
            checks=(fails(400, 422),),
        ),
        Case(
            id="error-wrong-kind",
            right="A temperature that is a word is refused with 400, by the gateway or by the model's server.",
            body=ask(temperature="hot"),
            scene=refusal(400, "temperature must be a number", param="temperature"),
            checks=(fails(400, 422),),
        ),
        Case(
            id="error-cut",
            right="An error whose body comes byte by byte arrives whole.",
            body=ask(),
            scene=Scene((Status(400), Body(told(LONG, code="context_length_exceeded"))), Wire(framing="chunked", write_size=1)),
            checks=(fails(400), error_says(LONG)),
        ),
    ),
)

RETRY = Group(
    name="retry",
    title="When to try again",
    about="`retry-after` of the model's server is a promise; a caller that does not get it tries too early or too "
    "late. It may be seconds or a date, and may be passed on as either.",
    sources=(
        "RFC 9110, 10.2.3, Retry-After: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after",
        "OpenAI guide, Rate limits: https://platform.openai.com/docs/guides/rate-limits",
    ),
    cases=(
        Case(
            id="retry-seconds",
            right="The seconds of a 429 arrive.",
            body=ask(),
            scene=refusal(429, "Slow down.", code="rate_limit_exceeded", retry_after="7"),
            checks=(fails(429), retry_after(7)),
        ),
        Case(
            id="retry-date",
            right="The date of a 429 arrives, as a date or as the seconds until then.",
            body=ask(),
            scene=Scene((Status(429), RetryOn(60), Body(told("Slow down.", code="rate_limit_exceeded")))),
            checks=(fails(429), retry_after(60, slack=5)),
        ),
        Case(
            id="retry-stream",
            right="The seconds of a 429 arrive where a stream was asked for.",
            body=stream(),
            scene=refusal(429, "Slow down.", code="rate_limit_exceeded", retry_after="7"),
            checks=(fails(429), retry_after(7)),
        ),
        Case(
            id="retry-stream-date",
            right="The date of a 429 arrives where a stream was asked for.",
            body=stream(),
            scene=Scene((Status(429), RetryOn(60), Body(told("Slow down.", code="rate_limit_exceeded")))),
            checks=(fails(429), retry_after(60, slack=5)),
        ),
        Case(
            id="retry-503",
            right="The seconds of a 503 arrive.",
            body=ask(),
            scene=refusal(503, WORDS, kind="server_error", retry_after="3"),
            checks=(fails(*SERVER_FAULTS), retry_after(3)),
        ),
    ),
)
