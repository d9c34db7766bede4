"""Training in the page: what a page gets to train by itself (parts.py), and runs of `engine="page"`, which the kernel
starts and steers in a page that shows the widget (place.py, run.py). The page's half is js/features/in_page.
"""
