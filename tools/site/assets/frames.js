// Each match stands in a frame and says how high it is; its frame becomes as high.
addEventListener("message", ({ data, source }) => {
  if (typeof data?.dshqHeight !== "number") return;
  for (const frame of document.querySelectorAll("iframe.match")) {
    if (frame.contentWindow === source) frame.style.height = `${data.dshqHeight}px`;
  }
});
