import time
from tests.browser.conftest import *  # noqa
from tests.browser.test_watch_it_learn import begin

def test_wait(chromium, open_notebook):
    notebook, widget = begin(open_notebook, chromium)
    from concurrent.futures import ThreadPoolExecutor
    pool = ThreadPoolExecutor(1)
    notebook.kernel.run("w.train()")
    widget.wait_number("version", lambda v: v >= 1, 120)
    f = pool.submit(notebook.kernel.run, "print(w.wait(seconds=12))")
    seen = []
    for _ in range(12):
        seen.append((widget.number("version"), widget.attribute("status")))
        widget.page.wait_for_timeout(1000)
    print("DURING", seen)
    print("RESULT", f.result(60))
    print("LOG", notebook.kernel.run("print(w.seq, w._flow.__dict__, w._page)"))
