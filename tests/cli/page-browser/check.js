/* Looks at a page from inside: what a reader with a keyboard does, what hostile names did, what axe-core finds. The title is the verdict. */
(async () => {
  const said = [], ok = (holds, what) => { if (!holds) said.push(what); };
  const wait = ms => new Promise(done => setTimeout(done, ms));
  const key = (at, name) => at.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true}));
  try {
    ok(window.pwned === undefined, 'a name was executed');
    ok(document.documentElement.scrollWidth <= innerWidth, `the page scrolls sideways: ${document.documentElement.scrollWidth} of ${innerWidth}`);
    const ids = Array.from(document.querySelectorAll('[id]'), e => e.id);
    ok(new Set(ids).size === ids.length, 'an id is listed twice');
    for (const a of document.querySelectorAll('a')) {
      const to = a.hash.slice(1).split('+');
      if (!to.every(id => document.getElementById(id))) { said.push('a link to nowhere: ' + a.hash); break; }
    }
    const bare = Array.from(document.querySelectorAll('svg')).filter(s => s.getAttribute('role') !== 'img' || !s.getAttribute('aria-label'));
    ok(!bare.length, `${bare.length} pictures without an alternative`);
    await wait(300); /* a section is made ready when it comes near */
    const rows = Array.from(document.querySelectorAll('details.row'));
    ok(rows.length > 1, 'no pages of rows');
    const head = document.querySelector('th[tabindex="0"]');
    ok(head, 'nothing to sort by');
    if (head) {
      key(head, 'Enter');
      ok(head.getAttribute('aria-sort') === 'ascending', 'Enter does not sort');
      key(head, 'Enter');
      ok(head.getAttribute('aria-sort') === 'descending', 'Enter does not sort back');
    }
    const filter = document.querySelector('nav input');
    filter.value = 'no such row';
    filter.dispatchEvent(new Event('input'));
    await wait(300);
    ok(rows.every(r => r.hidden), 'the filter shows what it should not');
    filter.value = '';
    filter.dispatchEvent(new Event('input'));
    await wait(300);
    ok(!rows.some(r => r.hidden), 'the filter does not give back');
    for (const row of rows.slice(0, 4)) row.open = true;
    await wait(300);
    for (const table of document.querySelectorAll('details.row[open] table[data-name=source]')) { /* beside each line its code, the hottest's open */
      const folds = Array.from(table.querySelectorAll('details')), open = folds.filter(d => d.open);
      ok(!folds.length || open.length, 'no line of code is open');
      ok(open.every(d => d.querySelectorAll('tr').length > 0 && d.getBoundingClientRect().height > 20), 'an open line of code shows nothing');
      const line = open[0] && open[0].closest('tr'), text = line && line.querySelector('td.source').getBoundingClientRect(), code = open[0] && open[0].getBoundingClientRect();
      ok(!line || (innerWidth > 1000 ? code.left >= text.right - 1 : code.top >= text.bottom - 1), 'code is neither beside its line nor, on a narrow page, below it');
    }
    rows[0].closest('section').scrollIntoView();
    await wait(300);
    location.hash = rows[1].id + '+' + rows[2].id;
    for (let i = 0; i < 20 && !document.getElementById('compare'); i++) await wait(100);
    const box = document.getElementById('compare');
    ok(box && box.querySelectorAll('table').length > 0, 'two rows are not held beside each other');
    ok(box && Array.from(box.querySelectorAll('h3')).at(-1).textContent === 'As each page has it', 'the comparison stops before its end');
    ok(Array.from(box.querySelectorAll('table.pair td')).every(c => c.getBoundingClientRect().width > 60), 'a side of the comparison has no room');
    for (const name of ['levels', 'source']) {
      const both = [rows[1], rows[2]].every(r => r.querySelector(`table[data-name=${name}]`)), lines = Array.from(box.querySelectorAll('tbody td.l')).map(c => c.textContent);
      const texts = Array.from(rows[1].querySelectorAll('table[data-name=source] > tbody > tr > td.source'), c => c.firstChild ? c.firstChild.textContent.trim() : '');
      ok(!both || lines.some(l => name === 'levels' ? l.startsWith('global loads, ') : l && texts.includes(l.trim())), 'the comparison has not the lines of ' + name);
    }
    ok(!document.querySelector('details[open] > .more'), 'an open page is not unpacked');
    ok(document.activeElement === box, 'the comparison has not the focus');
    document.head.append(Object.assign(document.createElement('style'), {textContent: 'main > section { content-visibility: visible !important; }'})); /* else what is too wide is cut off */
    await wait(300);
    ok(document.documentElement.scrollWidth <= innerWidth, 'with two rows the page scrolls sideways');
    ok(window.pwned === undefined, 'a name was executed by the script');
    if (window.axe) {
      const found = await axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']});
      for (const v of found.violations) said.push(`axe ${v.id} (${v.impact}), ${v.nodes.length} times: ${v.nodes[0].html.slice(0, 160)}`);
    }
  } catch (e) {
    said.push('script: ' + e.message);
  }
  document.title = said.length ? 'FOUND ' + said.join(' | ') : 'CLEAN ' + innerWidth;
})();
