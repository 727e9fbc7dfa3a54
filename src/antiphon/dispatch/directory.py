"""What every name in the catalogue stands for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches

from antiphon.core.errors import ModelNotFound
from antiphon.core.ports import Model
from antiphon.core.types import ModelCard
from antiphon.dispatch.chain import Chain
from antiphon.dispatch.scheduled import Scheduled

Scheduling = Callable[[str, Sequence[Model]], Model | None]
"""Puts a scheduler in front of the replicas of a name; None where the name has none."""


def _unscheduled(name: str, members: Sequence[Model]) -> Model | None:
    del name, members
    return None


class Directory:
    """Names and the models behind them.

    A replica answers to its model's name and to ``provider/model``. A name that several providers have is a fall-back chain in the
    order of the configuration, and so is an alias with several targets, unless ``scheduling`` has something better for it.
    """

    def __init__(
        self,
        replicas: Iterable[tuple[ModelCard, Model]],
        aliases: Mapping[str, tuple[str, ...]],
        scheduling: Scheduling = _unscheduled,
    ) -> None:
        groups: dict[str, list[Model]] = {}
        self._cards: dict[str, ModelCard] = {}
        self._ids: dict[str, list[str]] = {}
        for card, model in replicas:
            groups.setdefault(card.id, []).append(model)
            self._ids.setdefault(model.name, []).append(card.id)
            groups.setdefault(model.name, groups[card.id] if model.name == card.id else [model])
            self._cards.setdefault(card.id, card)
        found = ((name, scheduling(name, members)) for name, members in groups.items())
        scheduled = {name: model for name, model in found if model is not None}
        self._models: dict[str, Model] = {name: Chain(name, members) for name, members in groups.items()}
        self._models.update(scheduled)
        for alias, targets in aliases.items():
            names = _flatten(alias, targets, aliases)
            members = [member for name in names for member in groups.get(name, ())]
            if members:
                chained = [model for name in names for model in ((scheduled[name],) if name in scheduled else groups.get(name, ()))]
                own = scheduling(alias, members)
                self._models[alias] = Chain(alias, chained) if own is None else own
                first = next((self._cards[name] for name in targets if name in self._cards), ModelCard(alias, "antiphon"))
                self._cards[alias] = ModelCard(alias, "antiphon", kind=first.kind, abilities=first.abilities)

    def model_for(self, reference: str) -> Model:
        """The model that a caller's name stands for. Raises ModelNotFound with the names that are near."""
        model = self._models.get(reference)
        if model is None:
            raise self._unknown(reference)
        return model

    def names_of(self, reference: str) -> tuple[str, ...]:
        """The models, by their names in the catalogue, that may answer calls to a name. Raises ModelNotFound."""
        self.model_for(reference)
        return tuple(dict.fromkeys(name for replica in self.replicas_of(reference) for name in self._ids.get(replica, ())))

    def replicas_of(self, reference: str) -> list[str]:
        """``provider/model`` of everything that may answer calls to a name; of nothing where there is no such name."""
        found: dict[str, None] = {}
        stack: list[object] = [self._models.get(reference)]
        while stack:
            model = stack.pop()
            if isinstance(model, Chain):
                stack += model.members
            elif isinstance(model, Scheduled):
                stack += model.members
                if model.ways is not None:
                    stack.append(model.ways.model)
            elif isinstance(model, Model):
                found[model.name] = None
        return list(found)

    def cards(self) -> list[ModelCard]:
        """All models that can be named, in the order of the configuration."""
        return list(self._cards.values())

    def card(self, reference: str) -> ModelCard:
        """One model's card. Raises ModelNotFound."""
        card = self._cards.get(reference)
        if card is None:
            raise self._unknown(reference)
        return card

    def _unknown(self, reference: str) -> ModelNotFound:
        near = get_close_matches(reference, self._models, n=3) or sorted(self._cards)[:10]
        known = f"; known: {', '.join(near)}" if near else "; the catalogue is empty"
        return ModelNotFound(
            f'model "{reference[:200]}" is not in the catalogue{known}',
            remedy='list all with GET /v1/models, add one with "antiphon models add"',
            param="model",
        )


def _flatten(alias: str, targets: tuple[str, ...], aliases: Mapping[str, tuple[str, ...]], seen: tuple[str, ...] = ()) -> list[str]:
    """The names behind an alias, aliases of aliases resolved, each once."""
    names: list[str] = []
    for target in targets:
        if target in aliases and target not in seen:
            names += _flatten(target, aliases[target], aliases, (*seen, alias))
        else:
            names.append(target)
    return list(dict.fromkeys(names))
