/* What a report's page does beyond being read: opens what a link names, sorts, filters, copies, holds two rows beside each other.
   Names reach the page as text only (textContent); the one markup it makes is what bench packed, where names are text already. */
'use strict';
(() => {
  const all = (from, what) => Array.from(from.querySelectorAll(what));
  const make = (tag, text, more) => Object.assign(document.createElement(tag), {textContent: text}, more);
  const bar = document.querySelector('nav');

  /* what a large page has packed: the rest of a row's page, the counters of a case */
  const unpack = async fold => {
    const section = fold.closest('section'), packed = section && section.querySelector(':scope > [data-packed]');
    if (!packed) return;
    const bytes = Uint8Array.from(atob(packed.dataset.packed), c => c.charCodeAt(0));
    packed.remove();
    const parts = (await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).text()).split('\n<!--part-->\n');
    all(section, '.more').forEach((more, i) => {
      const made = make('template', ''); /* a script in it would not run */
      made.innerHTML = parts[i];
      more.replaceWith(made.content);
    });
    for (const open of all(section, 'details[open]')) prepare(open);
  };

  /* a link to a row opens it; one to two rows, #A+B, holds them beside each other */
  const open = () => {
    const both = location.hash.slice(1).split('+').map(id => document.getElementById(id));
    if (both.length === 2 && both[0] && both[1]) {
      show(...both);
      return;
    }
    const at = both[0];
    for (let d = at; d; d = d.parentElement)
      if (d.tagName === 'DETAILS') d.open = true;
    if (at) at.scrollIntoView();
  };
  /* sort: a heading is a button; a step stays behind its row */
  const value = cell => {
    const text = cell ? (/\d[KMGTP]?B?$/.test(cell.textContent) && cell.title) || cell.firstChild && cell.firstChild.textContent || cell.textContent : '';
    const number = parseFloat(text.replace(/,/g, ''));
    return isNaN(number) ? text.toLowerCase() : number;
  };
  const order = (a, b) => (a === '') - (b === '') || (typeof a === 'string') - (typeof b === 'string') || (a < b ? -1 : a > b ? 1 : 0);
  const sort = (table, head, index) => {
    const body = table.tBodies[0], groups = [];
    for (const row of Array.from(body.rows))
      if (row.className === 'step' && groups.length) groups[groups.length - 1].push(row);
      else groups.push([row]);
    const down = head.getAttribute('aria-sort') === 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const keyed = groups.map(rows => ({rows, key: value(rows[0].cells[index])}));
    keyed.sort((a, b) => order(a.key, b.key) * (down && a.key !== '' && b.key !== '' ? -1 : 1));
    body.append(...keyed.flatMap(g => g.rows));
  };
  document.addEventListener('click', e => {
    const head = e.target.closest('th');
    if (head && head.tabIndex === 0) sort(head.closest('table'), head, head.cellIndex);
  });
  document.addEventListener('keydown', e => {
    if ((e.key === 'Enter' || e.key === ' ') && e.target.tagName === 'TH') {
      e.preventDefault();
      e.target.click();
    }
  });
  /* a page of very many rows says once, at its end, what a column is */
  const meanings = new Map();
  for (const term of all(document, 'dl.columns dt'))
    meanings.set(term.textContent, [meanings.get(term.textContent), term.nextElementSibling.textContent].filter(Boolean).join('; '));
  const heading = head => Array.from(head.childNodes).filter(n => n.nodeName !== 'SMALL').map(n => n.textContent).join('').trim();
  const prepare = from => {
    for (const cell of all(from, 'td.share')) cell.style.setProperty('--share', Math.min(100, Math.max(0, parseFloat(cell.textContent) || 0)) + '%');
    for (const table of all(from, 'table')) {
      if (table.rows.length > 3)
        for (const head of all(table, 'thead th')) head.tabIndex = 0;
      for (const head of all(table, 'thead th:not([title])'))
        if (meanings.has(heading(head))) head.title = meanings.get(heading(head));
    }
    for (const box of all(from, '.scroll, pre'))
      if (box.scrollWidth > box.clientWidth) { /* for the keyboard */
        box.tabIndex = 0;
        box.setAttribute('role', 'group');
        box.setAttribute('aria-label', 'scrolls sideways');
      }
  };
  /* of very many sections each when it comes near: to ask for the widths of ten thousand rows at once would lay all of them out */
  const near = new IntersectionObserver(seen => {
    for (const {target} of seen.filter(s => s.isIntersecting)) {
      near.unobserve(target);
      prepare(target);
    }
  }, {rootMargin: '1000px'});
  const sections = all(document, 'main > section');
  for (const section of sections)
    if (sections.length < 60) prepare(section);
    else near.observe(section);

  /* filter: rows of tables and their pages by words; a section without any goes */
  const words = make('input', '', {type: 'search', placeholder: 'filter rows: naive body_1'});
  words.setAttribute('aria-label', 'filter rows');
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const section of all(document, 'main > section')) {
      const rows = all(section, 'details.row');
      if (!rows.length) continue;
      let left = 0;
      const shown = new Set();
      for (const row of rows) {
        const hit = wanted.every(w => (row.dataset.id + ' ' + row.firstChild.textContent).toLowerCase().includes(w));
        row.hidden = !hit;
        left += hit;
        if (hit) shown.add(row.id);
      }
      let hidden = false;
      for (const line of all(section, ':scope > .scroll:first-of-type tbody tr')) {
        const link = line.querySelector('a');
        if (line.className !== 'step' && link) hidden = !shown.has(link.hash.slice(1));
        line.hidden = hidden;
      }
      section.hidden = !left;
    }
  };
  let later;
  words.addEventListener('input', () => { clearTimeout(later); later = setTimeout(filter, 150); });
  if (document.querySelector('details.row')) bar.append(words);

  /* a row's page: link, copy, compare */
  const said = make('span', '', {className: 'said'});
  said.setAttribute('role', 'status');
  bar.append(said);
  const copy = text => {
    const done = () => { said.textContent = 'copied'; setTimeout(() => { said.textContent = ''; }, 1500); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => prompt('copy', text));
    else prompt('copy', text);
  };
  const button = (text, act, title) => {
    const b = make('button', text, {type: 'button', title: title || ''});
    b.addEventListener('click', act);
    return b;
  };
  let first = null;
  document.addEventListener('toggle', e => {
    const row = e.target;
    if (!row.open) return;
    prepare(row);
    unpack(row);
    if (!row.classList.contains('row') || row.querySelector(':scope > .tools')) return;
    const tools = make('p', '', {className: 'tools'});
    tools.append(make('a', 'link', {href: '#' + row.id}), button('copy id', () => copy(row.dataset.id)),
      button('compare', () => pick(row), 'choose two rows to see them side by side'));
    for (const code of all(row, ':scope > pre')) code.after(button('copy', () => copy(code.textContent)));
    row.firstElementChild.after(tools);
  }, true);

  /* two rows, table by table: what both have stands in one line */
  const pick = row => {
    if (!first || first === row) {
      first = row;
      said.textContent = 'compare ' + row.dataset.id + ' with: open another row';
      return;
    }
    location.hash = first.id + '+' + row.id;
    first = null;
    said.textContent = '';
  };
  /* behind a colon stand the row's own numbers; of source its text: the same line is another number in another file */
  const line = (table, key) => table.dataset.name !== 'source' ? key.textContent.split(/[:;]/)[0] : (key.parentElement.querySelector('.source')?.firstChild?.textContent ?? '').trim();
  const lines = table => {
    const found = new Map();
    for (const r of table.tBodies[0].rows) {
      let key = line(table, r.cells[0]);
      while (found.has(key)) key += ' '; /* the second of its kind */
      found.set(key, Array.from(r.cells));
    }
    return found;
  };
  const numeric = cell => { const v = cell ? value(cell) : NaN; return typeof v === 'number' ? v : NaN; };
  const paired = heads => { const t = make('table', ''), r = t.createTHead().insertRow(); for (const text of heads) r.append(make('th', text)); r.cells[0].className = 'l'; return t; };
  const add = (body, key, p, q) => {
    const m = numeric(p), n = numeric(q), r = body.insertRow();
    r.append(make('td', key, {className: 'l'}), make('td', p ? p.textContent : ''), make('td', q ? q.textContent : ''),
      make('td', m > 0 && n >= 0 ? (n / m).toPrecision(3) : ''));
    if (m > 0 && n >= 0 && (n / m > 1.25 || n / m < 0.8)) r.cells[3].className = 'warn';
  };
  /* what the tables of a case say of a row, by their headings */
  const facts = row => {
    const found = new Map(), named = row.querySelector('summary').firstChild.textContent.trim();
    for (const line of all(row.closest('section'), ':scope > .scroll > table:not(.sides):not([data-name=runs]) > tbody > tr')) {
      const cells = Array.from(line.cells), heads = line.closest('table').tHead.rows[0].cells, own = line.querySelector('td.name') || cells[0];
      if (line.className === 'step' || own.firstChild.textContent.trim() !== named) continue;
      for (let i = cells.indexOf(own) + 1; i < cells.length; i++)
        if (heads[i] && heads[i].textContent && cells[i].colSpan === 1 && !found.has(heads[i].firstChild.textContent))
          found.set(heads[i].firstChild.textContent, cells[i]);
    }
    return found;
  };
  const mergeFacts = (a, b) => {
    const x = facts(a), y = facts(b), table = paired(['fact', 'A', 'B', 'B / A']), body = table.createTBody();
    for (const key of new Set([...x.keys(), ...y.keys()])) add(body, key, x.get(key), y.get(key));
    return table;
  };
  const merge = (a, b) => {
    const x = a ? lines(a) : new Map(), y = b ? lines(b) : new Map(), heads = (a || b).tHead.rows[0].cells;
    const numbers = Array.from(heads).map((h, i) => i).filter(i => i && !heads[i].classList.contains('l'));
    const several = (a || b).dataset.name === 'levels'; /* each column says something else of its line */
    const table = paired([heads[0].textContent || 'part', 'A', 'B', 'B / A']), body = table.createTBody();
    if (!several) body.parentElement.tHead.rows[0].cells[1].textContent = 'A, ' + heads[numbers[0] || 1].textContent;
    for (const key of new Set([...x.keys(), ...y.keys()]))
      for (const i of several ? numbers : [numbers[0] || 1]) {
        const p = (x.get(key) || [])[i], q = (y.get(key) || [])[i];
        if (p && p.textContent || q && q.textContent) add(body, several ? key + ', ' + heads[i].textContent : key, p, q);
      }
    return table;
  };
  const show = async (a, b) => {
    await Promise.all([unpack(a), unpack(b)]);
    const old = document.getElementById('compare');
    if (old) old.remove();
    const box = make('section', '', {id: 'compare', tabIndex: -1});
    box.append(make('h2', 'Two rows'), make('p', 'A  ' + a.dataset.id), make('p', 'B  ' + b.dataset.id),
      button('close', () => { history.replaceState(null, '', '#' + a.id); box.remove(); open(); }), button('swap', () => { location.hash = b.id + '+' + a.id; }));
    const both = (title, table) => {
      const scroll = make('div', '', {className: 'scroll'});
      scroll.append(table);
      box.append(make('h3', title), scroll);
    };
    both('In its table', mergeFacts(a, b));
    const pictures = make('table', '', {className: 'pair'}), line = (name, key) => {
      const both = [a, b].map(row => all(row, ':scope > ' + key));
      for (let i = 0; i < Math.max(both[0].length, both[1].length); i++) {
        const r = pictures.insertRow();
        r.append(i ? make('td', '') : make('th', name, {scope: 'row'}));
        for (const side of both) { const c = r.insertCell(); if (side[i]) c.append(side[i].cloneNode(true)); }
      }
    };
    line('says', 'ul.notes');
    line('pictures', 'figure');
    const names = new Set([...all(a, 'table[data-name]'), ...all(b, 'table[data-name]')].map(t => t.dataset.name));
    for (const name of names) {
      const p = a.querySelector(`table[data-name="${name}"]`), q = b.querySelector(`table[data-name="${name}"]`);
      let title = (p || q).parentElement.previousElementSibling;
      while (title && !/^H/.test(title.tagName)) title = title.previousElementSibling;
      both(title ? title.textContent : name, merge(p, q));
    }
    both('As each page has it', pictures);
    document.querySelector('main').prepend(box);
    prepare(box);
    box.focus();
    box.scrollIntoView();
  };

  /* of a row in several runs: its pages in the first and the last beside each other */
  for (const table of all(document, 'table[data-name=runs]'))
    for (const row of table.tBodies[0].rows) {
      const links = all(row, 'a');
      if (links.length > 1) row.cells[row.cells.length - 1].append(' ', make('a', 'compare', {href: links[0].hash + '+' + links[links.length - 1].hash.slice(1)}));
    }
  addEventListener('hashchange', open);
  open();
})();
