"""Asks one question, and says what to do when that fails.

ANTIPHON_BASE_URL and ANTIPHON_API_KEY name another server than http://127.0.0.1:8080.
"""

import sys

from antiphon_client import APIError, Client

QUESTION = "What is an antiphon?"


def main() -> None:
    with Client(deadline=120) as client:
        try:
            model = next(model.id for model in client.models.list() if model.kind == "chat")
            answer = client.chat.create(
                model=model,
                messages=[{"role": "system", "content": "Answer in one sentence."}, {"role": "user", "content": QUESTION}],
                max_tokens=60,
                temperature=0,
            )
        except APIError as error:
            sys.exit(f"{error.message}\nwhat to do: {error.remedy}\nin the server's log: {error.request_id}")
    print(answer.text)
    if answer.usage is not None:
        print(f"{answer.usage.total_tokens} tokens, request {answer.request_id}")


if __name__ == "__main__":
    main()
