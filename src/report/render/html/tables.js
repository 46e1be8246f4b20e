'use strict';
(() => {
  // Sorting: by number where a cell has one, else by text; cells without anything come last, whatever the direction.
  function sort(head) {
    const table = head.closest('table');
    const column = [...head.parentNode.children].indexOf(head);
    const down = head.getAttribute('aria-sort') === 'ascending';
    for (const other of head.parentNode.children) other.setAttribute('aria-sort', 'none');
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const key = row => {
      const cell = row.children[column];
      return 'value' in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
    };
    const compare = (a, b) => {
      if ((a === '-') !== (b === '-')) return a === '-' ? 1 : -1;
      const order = typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en');
      return down ? -order : order;
    };
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => compare(key(a), key(b)));
    table.tBodies[0].append(...rows);
  }
  for (const head of document.querySelectorAll('th[aria-sort]'))
    head.querySelector('button').addEventListener('click', () => sort(head));
  for (const cell of document.querySelectorAll('td:not(.number)'))
    if (cell.textContent.length > 60) cell.classList.add('long');
})();
