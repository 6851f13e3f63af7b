"""Write the configuration of a build master: ``python buildbot_configuration.py MASTER ADDRESS PORT``."""

import sys
from pathlib import Path

Path(sys.argv[1], "master.cfg").write_text(
    f"""
from buildbot.plugins import schedulers, steps, util, worker
c = BuildmasterConfig = {{}}
c["workers"] = [worker.LocalWorker("here")]
c["protocols"] = {{"pb": {{"port": "tcp:0:interface=127.0.0.1"}}}}
c["buildbotNetUsageData"] = None
names = ["apples", "bread", "cheese"]
def factory(name):
    return util.BuildFactory([steps.ShellCommand(command=["echo", name], name="say " + name)])
c["builders"] = [util.BuilderConfig(name=each, workernames=["here"], factory=factory(each), tags=["food"]) for each in names]
c["schedulers"] = [schedulers.ForceScheduler(name="force-" + each, builderNames=[each], buttonName="Build " + each) for each in names]
c["title"] = "Kitchen"
c["titleURL"] = "{sys.argv[2]}"
c["buildbotURL"] = "{sys.argv[2]}"
c["www"] = {{"port": "tcp:{sys.argv[3]}:interface=127.0.0.1", "plugins": {{"waterfall_view": {{}}, "console_view": {{}}, "grid_view": {{}}}}}}
c["db"] = {{"db_url": "sqlite:///state.sqlite"}}
""",
    encoding="utf-8",
)
