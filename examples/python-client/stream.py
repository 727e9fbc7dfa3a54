"""Prints an answer while it is written, and has all of it in the end."""

from antiphon_client import Client

QUESTION = "Name the four voices of a choir."


def main() -> None:
    with Client() as client:
        model = next(model.id for model in client.models.list() if model.kind == "chat")
        with client.chat.stream(model=model, messages=[{"role": "user", "content": QUESTION}], max_tokens=60) as stream:
            for text in stream.text_stream:
                print(text, end="", flush=True)
            answer = stream.get_final_completion()
    print()
    print(f"ended by {answer.finish_reason}, {answer.usage.completion_tokens if answer.usage else '?'} tokens")


if __name__ == "__main__":
    main()
