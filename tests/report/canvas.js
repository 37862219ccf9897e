"use strict";
// Runs a page's player without a browser: a canvas that writes down what is drawn, as JSON on stdout; pictures in base64.
// node canvas.js PLAYER SCENE WIDTH HEIGHT PICTURE
const fs = require("fs");
const [player, data, width, height, picture] = process.argv.slice(2);
const drawn = [];
let path = [];
const hex = text => /^#[0-9a-f]{6}$/i.test(text) || /^rgb\(/.test(text);
const pen = {
  globalAlpha: 1, lineWidth: 1, fill_: "#000000", stroke_: "#000000",
  get fillStyle() { return this.fill_; }, set fillStyle(x) { if (hex(x)) this.fill_ = x; },
  get strokeStyle() { return this.stroke_; }, set strokeStyle(x) { if (hex(x)) this.stroke_ = x; },
  beginPath() { path = []; }, closePath() {}, setTransform() {}, setLineDash() {},
  moveTo(x, y) { path.push([[x, y]]); }, lineTo(x, y) { path[path.length - 1].push([x, y]); },
  arc(x, y, r) { path.push(Array.from({ length: 12 }, (_, k) => [x + r * Math.cos(k * Math.PI / 6), y + r * Math.sin(k * Math.PI / 6)])); },
  fill() { drawn.push({ what: "fill", style: this.fill_, alpha: this.globalAlpha, path }); },
  stroke() { drawn.push({ what: "stroke", style: this.stroke_, alpha: this.globalAlpha, width: this.lineWidth, path }); },
  fillText(text, x, y) { drawn.push({ what: "text", style: this.fill_, text, at: [x, y] }); },
  strokeText() {}, clearRect() { drawn.length = 0; },
  drawImage(sheet) { drawn.push({ what: "image", wide: sheet.width, high: sheet.height, dots: sheet.dots }); },
};
const sheet = () => {
  const made = { dots: "" };
  made.getContext = () => ({
    createImageData: (wide, high) => ({ data: new Uint8ClampedArray(4 * wide * high) }),
    putImageData(image) { made.dots = Buffer.from(image.data).toString("base64"); },
  });
  return made;
};
const elements = {};
const element = id => elements[id] ||= {
  on: {}, value: id === "speed" ? "1" : "0", textContent: id === "scene" ? fs.readFileSync(data, "utf8") : "",
  getContext: () => pen, addEventListener(name, f) { this.on[name] = f; }, add() {},
  getBoundingClientRect: () => ({ width: Number(width), height: Number(height) }),
};
const colours = { "--measured": "#33475b", "--predicted": "#d9480f", "--line": "#dfe4ea", "--muted": "#5c6b7a", "--accent": "#0b6e8f", "--wire": "#8a3fb0" };
global.document = { getElementById: element, createElement: sheet, documentElement: {} };
global.getComputedStyle = () => ({ getPropertyValue: name => colours[name] || "" });
global.matchMedia = () => ({ matches: true, addEventListener() {} });
global.addEventListener = () => {};
global.devicePixelRatio = 1;
global.Option = function () {};
eval(fs.readFileSync(player, "utf8"));
element("scrub").value = picture;
element("scrub").on.input();
process.stdout.write(JSON.stringify({ drawn, clock: element("clock").textContent, last: element("scrub").max }));
