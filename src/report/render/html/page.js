'use strict';
(() => {
  const root = document.documentElement;
  const prefersDark = matchMedia('(prefers-color-scheme: dark)');
  const themeButton = document.getElementById('theme');
  let printing = false;

  const isDark = () => !printing && (root.dataset.theme ? root.dataset.theme === 'dark' : prefersDark.matches);
  const css = name => getComputedStyle(root).getPropertyValue(name).trim();

  // The choice lasts as long as the browser lets a page from a file remember anything.
  const remember = theme => { try { localStorage.setItem('theme', theme); } catch { /* not allowed here */ } };
  const remembered = () => { try { return localStorage.getItem('theme'); } catch { return null; } };

  // Eight colours that people with any colour vision tell apart (after Okabe and Ito), darker on white, lighter on
  // black. Colour is never alone: lines differ in dashes and points, bars in hatching.
  const kLight = ['#0072b2', '#c25400', '#007a5a', '#a3508a', '#8a6d00', '#3f7fae', '#555555', '#8c2d04'];
  const kDark = ['#56b4e9', '#f0913a', '#2fc49a', '#e29bc9', '#e6cf42', '#9ad0f5', '#b8b8b8', '#ff9d76'];
  const kDashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [14, 4], [3, 6], [8, 2, 2, 2, 2, 2]];
  const kPoints = ['circle', 'rect', 'triangle', 'rectRot', 'cross', 'star', 'crossRot', 'line'];
  const pick = (list, i) => list[i % list.length];
  const colour = i => pick(isDark() ? kDark : kLight, i);
  // From the ninth on colours come again, with another hatching, dash or point.
  const shape = i => (i + 3 * Math.floor(i / kLight.length)) % kLight.length;

  // A bar's filling: the first is plain, the others are hatched, each in its own way.
  function filling(i) {
    const tile = document.createElement('canvas');
    const size = tile.width = tile.height = 8;
    const pen = tile.getContext('2d');
    pen.fillStyle = colour(i);
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = pen.fillStyle = isDark() ? 'rgba(0,0,0,0.6)' : 'rgba(255,255,255,0.8)';
    pen.lineWidth = 1.4;
    const stroke = (...ends) => {
      pen.beginPath();
      for (const [x0, y0, x1, y1] of ends) { pen.moveTo(x0, y0); pen.lineTo(x1, y1); }
      pen.stroke();
    };
    const rising = [[0, 8, 8, 0], [-1, 1, 1, -1], [7, 9, 9, 7]];
    const falling = [[0, 0, 8, 8], [-1, 7, 1, 9], [7, -1, 9, 1]];
    switch (shape(i)) {
      case 1: stroke(...rising); break;
      case 2: pen.fillRect(2, 2, 3, 3); break;
      case 3: stroke([4, 0, 4, 8]); break;
      case 4: stroke(...rising, ...falling); break;
      case 5: stroke([0, 4, 8, 4]); break;
      case 6: stroke(...falling); break;
      case 7: stroke([0, 4, 8, 4], [4, 0, 4, 8]); break;
    }
    return pen.createPattern(tile, 'repeat');
  }

  // Four significant digits, and all digits before the point, as the tables write numbers; trailing zeros left out.
  const number = value => Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));

  // At a bar, all four, as in the tables; whole numbers as such.
  const label = value => Number.isInteger(value) || Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(4);

  const narrow = () => innerWidth < 640;

  const decades = ({min, max}) => Math.log10(max / min);
  /// On a logarithmic axis 1, 2 and 5 times the powers of ten, or over many decades these powers alone.
  const keepRoundNumbers = scale => {
    const kept = decades(scale) > 2 ? [1] : decades(scale) > 1 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
    scale.ticks = scale.ticks.filter(({value}) => {
      const leading = value / 10 ** Math.floor(Math.log10(value) + 1e-9);
      return kept.some(digit => Math.abs(leading - digit) < 1e-6);
    });
  };
  /// Every second, third, ... number where there is no room for all: at equal distances, unlike those that autoSkip leaves.
  const thin = scale => {
    if (scale.type === 'logarithmic') keepRoundNumbers(scale);
    if (!scale.isHorizontal()) return;
    scale.ctx.font = `${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
    const width = Math.max(...scale.ticks.map(({value}) => scale.ctx.measureText(number(value)).width)) + 12;
    const room = Math.max(1, Math.floor(scale.chart.width * (narrow() ? 0.5 : 0.75) / width));
    const step = Math.ceil(scale.ticks.length / room);
    scale.ticks = scale.ticks.filter((_, i) => (scale.ticks.length - 1 - i) % step === 0);
  };
  const valueAxis = ({title, logarithmic, end}) => ({
    type: logarithmic ? 'logarithmic' : 'linear',
    ...(end ? {max: end} : {}),
    title: {display: Boolean(title), text: title, color: css('--soft')},
    grid: {color: css('--line')},
    ticks: {color: css('--text'), maxRotation: 0, autoSkip: !logarithmic, callback: number},
    afterBuildTicks: thin,
  });
  const categoryAxis = () => ({type: 'category', grid: {display: false}, ticks: {color: css('--text'), autoSkip: false}});

  /// Names of categories are broken at commas on a phone, and cut at the left where a line of them is too long.
  const name = text => {
    const most = narrow() ? 26 : 70;
    const lines = [];
    for (const part of text.split(', ')) {
      const joined = lines.length ? `${lines[lines.length - 1]}, ${part}` : part;
      if (lines.length && (joined.length <= most || !narrow() || lines.length === 3)) lines[lines.length - 1] = joined;
      else lines.push(part);
    }
    return lines.map(line => line.length > most ? `\u2026${line.slice(1 - most)}` : line);
  };

  function bars(chart) {
    const stacked = chart.kind === 'stacked';
    return {
      type: 'bar',
      data: {
        labels: chart.categories.map(name),
        datasets: chart.series.map((series, i) => {
          const data = chart.categories.map(() => null);
          for (const [x, y] of series.points) data[x] = y;
          return {
            label: series.name, data, backgroundColor: filling(i), borderColor: colour(i), borderWidth: 1,
            skipNull: true, barPercentage: 0.92, categoryPercentage: stacked ? 0.75 : 0.85,
          };
        }),
      },
      plugins: stacked ? [] : [barNumbers],
      options: {
        indexAxis: 'y',
        scales: {x: {...valueAxis(chart.x), stacked}, y: {...categoryAxis(), stacked}},
      },
    };
  }

  /// The number at the end of each bar, where there is room.
  const barNumbers = {
    id: 'barNumbers',
    afterDatasetsDraw(chart) {
      const {ctx, data, chartArea} = chart;
      ctx.save();
      ctx.font = `10px ${Chart.defaults.font.family}`;
      ctx.textBaseline = 'middle';
      data.datasets.forEach((series, i) => chart.getDatasetMeta(i).data.forEach((bar, k) => {
        if (series.data[k] === null || !chart.isDatasetVisible(i)) return;
        const text = label(series.data[k]);
        const width = ctx.measureText(text).width;
        const inside = bar.x + width + 6 > chartArea.right;
        ctx.fillStyle = css('--card');
        if (inside) ctx.fillRect(bar.x - width - 8, bar.y - 6, width + 6, 12);
        ctx.fillStyle = css('--text');
        ctx.fillText(text, inside ? bar.x - width - 5 : bar.x + 4, bar.y + 0.5);
      }));
      ctx.restore();
    },
  };

  // Points are hollow, and those of the first series the largest, so that points at the same place show one another.
  const radius = (chart, i) => 3.5 + 1.5 * Math.min(3, chart.series.length - 1 - i);

  function lines(chart) {
    return {
      type: 'scatter',
      data: {
        datasets: chart.series.map((series, i) => ({
          label: series.name, data: series.points.map(([x, y, label]) => ({x, y, label})), showLine: series.line,
          borderColor: colour(i), backgroundColor: 'transparent', borderDash: kDashes[shape(i)],
          borderWidth: 2, pointStyle: series.marks ? kPoints[shape(i)] : 'line',
          pointRadius: series.marks ? radius(chart, i) : 0,
        })),
      },
      options: {scales: {x: valueAxis(chart.x), y: valueAxis(chart.y)}, interaction: {mode: 'nearest', intersect: false}},
    };
  }

  // Few entries in a cell to many: away from the page's own colour.
  const kFewToMany = {light: [[134, 188, 226], [6, 38, 88]], dark: [[32, 84, 138], [222, 240, 255]]};
  function heat(share) {
    const [few, many] = kFewToMany[isDark() ? 'dark' : 'light'];
    return `rgb(${few.map((value, i) => Math.round(value + share * (many[i] - value))).join()})`;
  }

  /// Whole numbers from 1 to the last, at steps of 1, 2 or 5 times a power of ten.
  function wholeTicks(last) {
    const least = last / (narrow() ? 4 : 8);
    const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    const step = [1, 2, 5, 10].map(digit => digit * power).find(candidate => candidate >= least);
    const ticks = [1];
    for (let value = step === 1 ? 2 : step; value < last - step / 2; value += step) ticks.push(value);
    return last > 1 ? [...ticks, last] : ticks;
  }
  const entryAxis = (title, last) => ({
    ...valueAxis({title, logarithmic: false}), min: 0.5, max: last + 0.5, grid: {color: css('--line'), drawOnChartArea: false},
    afterBuildTicks: scale => { scale.ticks = wholeTicks(last).map(value => ({value})); },
  });

  function spy(chart) {
    const {entry, height, width, rows, columns, counts} = chart.grid;
    const first = (cell, cells, length) => Math.ceil(cell * length / cells);
    const range = (cell, cells, length) => {
      const [from, to] = [first(cell, cells, length) + 1, first(cell + 1, cells, length)];
      return from === to ? `${from}` : `${from} to ${to}`;
    };
    const middle = (cell, cells, length) => (first(cell, cells, length) + first(cell + 1, cells, length) + 1) / 2;
    const cells = [];
    counts.forEach((count, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      if (count > 0) cells.push({x: middle(column, columns, width), y: middle(row, rows, height), row, column, count});
    });
    const most = Math.max(1, ...counts);
    const share = count => most > 1 ? Math.log(count) / Math.log(most) : 1;
    const drawCells = {
      id: 'cells',
      beforeDatasetsDraw({ctx, chartArea: area, scales: {x, y}}) {
        ctx.save();
        ctx.fillStyle = css('--head');
        ctx.fillRect(area.left, area.top, area.right - area.left, area.bottom - area.top);
        const edge = (axis, cell, number, length) => Math.round(axis.getPixelForValue(first(cell, number, length) + 0.5));
        for (const {row, column, count} of cells) {
          const [left, right] = [edge(x, column, columns, width), edge(x, column + 1, columns, width)];
          const [top, bottom] = [edge(y, row, rows, height), edge(y, row + 1, rows, height)];
          ctx.fillStyle = heat(share(count));
          ctx.fillRect(left, top, Math.max(1, right - left), Math.max(1, bottom - top));
        }
        ctx.restore();
      },
      afterDraw({ctx, chartArea: area}) {  // the legend
        ctx.save();
        ctx.font = `${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
        ctx.textBaseline = 'middle';
        const line = area.bottom + 26;
        let left = area.left;
        const write = text => {
          ctx.fillStyle = css('--text');
          ctx.fillText(text, left, line);
          left += ctx.measureText(text).width + 8;
        };
        write(rows < height || columns < width ? `${entry}s in a cell:` : `${entry}s:`);
        write('1');
        const steps = most > 1 ? 80 : 14;
        for (let i = 0; i < steps; ++i) {
          ctx.fillStyle = heat(most > 1 ? i / (steps - 1) : 1);
          ctx.fillRect(left + i, line - 7, 1.5, 14);
        }
        left += steps + 8;
        if (most > 1) write(narrow() ? `${most}, log` : `${most} (logarithmic)`);
        ctx.restore();
      },
    };
    return {
      type: 'scatter',
      data: {datasets: [{data: cells, pointRadius: 0, pointHoverRadius: 0}]},
      plugins: [drawCells],
      tooltip: {
        label: ({raw}) => [`${chart.y.title} ${range(raw.row, rows, height)}, ${chart.x.title} ${range(raw.column, columns, width)}`,
                           `${raw.count} ${raw.count === 1 ? entry : `${entry}s`}`],
      },
      options: {
        scales: {x: {...entryAxis(chart.x.title, width), position: 'top'}, y: {...entryAxis(chart.y.title, height), reverse: true}},
        layout: {padding: {bottom: 40, right: 12}},
        interaction: {mode: 'nearest', intersect: false},
      },
    };
  }

  function settings(chart) {
    const made = {lines, spy}[chart.kind]?.(chart) ?? bars(chart);
    const along = chart.kind === 'lines' ? 'y' : 'x';
    Object.assign(made.options, {
      responsive: true, maintainAspectRatio: false, animation: false, color: css('--text'),
      plugins: {
        legend: {
          display: chart.series.length > 1, position: 'top', align: 'start',
          labels: {color: css('--text'), padding: 14,
                   ...(chart.kind === 'lines' ? {usePointStyle: true, boxWidth: 8, boxHeight: 8} : {boxWidth: 24})},
        },
        tooltip: {
          callbacks: made.tooltip ?? {
            label: at => [at.dataset.label, at.raw?.label].filter(Boolean).join(', ') + ': ' +
              (along === 'y' ? number(at.parsed.x) + ', ' : '') + number(at.parsed[along]),
          },
        },
      },
    });
    return made;
  }

  const data = JSON.parse(document.getElementById('charts').textContent);
  let drawn = [];
  /// A spy plot has the shape of its matrix; below it is room for the axis and the legend.
  function fit() {
    for (const box of document.querySelectorAll('.canvas[data-shape]')) {
      const shape = Number(box.dataset.shape);
      box.style.maxWidth = `${(printing ? 480 : 640) / Math.max(1, shape)}px`;
      box.style.height = `${box.offsetWidth * shape + 70}px`;
    }
  }
  function draw() {
    fit();
    for (const chart of drawn) chart.destroy();
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    Chart.defaults.font.size = narrow() ? 11 : 12;
    drawn = [...document.querySelectorAll('canvas[data-chart]')].map(
        canvas => new Chart(canvas, settings(data[canvas.dataset.chart])));
  }

  function show() {
    themeButton.textContent = isDark() ? 'Light' : 'Dark';
    themeButton.setAttribute('aria-label', isDark() ? 'Use light colours' : 'Use dark colours');
    draw();
  }

  if (['light', 'dark'].includes(remembered())) root.dataset.theme = remembered();
  themeButton.hidden = false;
  themeButton.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    remember(root.dataset.theme);
    show();
  });
  prefersDark.addEventListener('change', show);
  let wasNarrow = narrow();
  addEventListener('resize', () => {
    fit();
    if (narrow() === wasNarrow) return;
    wasNarrow = narrow();
    draw();
  });
  // Paper is white, whatever the screen is, and a chart has a page of it (A4, landscape) at most.
  const print = on => {
    printing = on;
    for (const box of document.querySelectorAll('.canvas:not([data-shape])')) {
      box.dataset.height ??= box.style.height;
      box.style.width = on ? '980px' : '';
      box.style.height = on ? `${Math.min(parseInt(box.dataset.height), 570)}px` : box.dataset.height;
    }
    draw();
  };
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));

  show();
})();
