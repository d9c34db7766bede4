# %%
from pathlib import Path

house = Path("winter.py")
wanted = "return 1.0 - abs(self.inside - WARM) / 5 - 0.1 * logs"
house.write_text(house.read_text().replace("return 0.0  # yours", wanted))
