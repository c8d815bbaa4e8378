// Filter for the raw results: every word must occur in a row; "column=value" asks for that column. Without this script all rows are shown.
(function () {
  "use strict";
  document.documentElement.classList.add("js");
  var input = document.getElementById("filter");
  var table = document.getElementById("raw-rows");
  var count = document.getElementById("filter-count");
  if (!input || !table || !count) return;
  var heads = Array.prototype.map.call(table.tHead.rows[0].cells, function (c) { return c.textContent.toLowerCase(); });
  var rows = Array.prototype.map.call(table.tBodies[0].rows, function (r) {
    var cells = Array.prototype.map.call(r.cells, function (c) { return c.textContent.toLowerCase(); });
    return { row: r, cells: cells, all: cells.join("\u0001") };
  });
  function apply() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    rows.forEach(function (r) {
      var hit = words.every(function (w) {
        var at = w.indexOf("=");
        var column = at > 0 ? heads.indexOf(w.slice(0, at)) : -1;
        return column >= 0 ? r.cells[column] === w.slice(at + 1) : r.all.indexOf(w) >= 0;
      });
      r.row.hidden = !hit;
      if (hit) shown += 1;
    });
    count.textContent = shown + " of " + rows.length + " rows";
  }
  input.addEventListener("input", apply);
  apply();
})();
