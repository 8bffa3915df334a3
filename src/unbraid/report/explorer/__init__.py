"""The explorer: a page that decodes in the browser, of one run or of a study.

:func:`run_site` and :func:`study_site` make a :class:`Site`, which :func:`write_site` puts into a folder that any file
server can show, and :func:`serve` shows on this machine alone.
"""

from unbraid.report.explorer.server import LoopbackServer, serve
from unbraid.report.explorer.site import RunSite, Site, run_site, write_site
from unbraid.report.explorer.study import StudySite, study_site

__all__ = ["LoopbackServer", "RunSite", "Site", "StudySite", "run_site", "serve", "study_site", "write_site"]
