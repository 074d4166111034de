"""
The demo: the main job end to end on this machine, for somebody who has nothing but Python.

`run` goes the way of an issue step by step. `children` starts and ends the processes (`child` is
what runs inside each), `sandbox` and `site` start one of them and talk to it over HTTP, `browser`
and `posting_twice` do what an author does, `readers` and `author` fill the list. `promises` judges
what came of it, apart from doing; `telling` puts it into words and `screen` shows them.
"""
