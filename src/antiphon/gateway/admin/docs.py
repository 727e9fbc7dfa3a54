"""GET /docs, /openapi.json and the landing page.

The files of Swagger UI come out of the package flask-swagger-ui, which carries them for offline use; nothing of its code is run.
"""

from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from antiphon import __version__
from antiphon.core.errors import SetupError
from antiphon.gateway.admin.openapi.document import document
from antiphon.gateway.admin.page import Page

CARRIER = "flask_swagger_ui"


def swagger_files() -> Path:
    """Folder of Swagger UI's files. Raises SetupError where the package is not installed."""
    spec = find_spec(CARRIER)  # finds it without importing it: that would import Flask too
    places = spec.submodule_search_locations if spec is not None else None
    if not places:
        raise SetupError("the files of Swagger UI are missing", remedy='install them with "pip install flask-swagger-ui"')
    return Path(places[0]) / "dist"


def routes() -> list[BaseRoute]:
    """The endpoints of this module."""
    described = document()

    async def openapi(_request: Request) -> Response:
        return Response(described, headers={"cache-control": "no-cache"}, media_type="application/json")

    landing = Page("landing.html", {"version": __version__})
    swagger = Page("docs.html", {"version": __version__})
    return [
        Route("/", landing.serve),
        Route("/openapi.json", openapi),
        Route("/docs", swagger.serve),
        Mount("/docs/assets", StaticFiles(directory=swagger_files())),
    ]
