"""Asks many questions at once; each has ten seconds, and what fails does not stop the others."""

import asyncio

from antiphon_client import APIError, AsyncClient

QUESTIONS = [f"What is {number} plus {number}?" for number in range(1, 9)]


async def main() -> None:
    async with AsyncClient(deadline=10, max_retries=3) as client:
        models = await client.models.list()
        model = next(model.id for model in models if model.kind == "chat")

        async def ask(question: str) -> str:
            try:
                answer = await client.chat.create(model=model, messages=[{"role": "user", "content": question}], max_tokens=20)
            except APIError as error:
                return f"failed: {error}"
            return answer.text

        answers = await asyncio.gather(*(ask(question) for question in QUESTIONS))
    for question, text in zip(QUESTIONS, answers, strict=True):
        print(f"{question} {text}")


if __name__ == "__main__":
    asyncio.run(main())
