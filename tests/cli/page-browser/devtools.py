"""A page in a headless Chromium, through the DevTools protocol over a pipe: a window of any width (headless windows have a least one), light, dark or printed.

devtools.py PAGE WIDTH light|dark|print SCRIPT...   prints the title that the scripts, run one after the other behind the page, give it
devtools.py PAGE WIDTH light|dark|print --picture OUT.png [SELECTOR [SCRIPT...]]   a picture of the page, or of the first such element
"""
import base64
import json
import os
import subprocess
import sys
import tempfile

HEIGHT = 1000


class Browser:
    def __init__(self):
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

        def fds():  # Chromium reads 3 and writes 4
            spare = [os.dup(to_browser), os.dup(from_browser)]
            while min(spare) < 5:
                spare = [os.dup(fd) for fd in spare]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)
        self.process = subprocess.Popen(
            ['chromium', '--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--remote-debugging-pipe',
             '--user-data-dir=' + self.profile.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=fds, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.events = b'', 0, None, []

    def receive(self):
        while b'\0' not in self.buffer:
            piece = os.read(self.read, 1 << 20)
            if not piece:
                sys.exit('the browser has ended')
            self.buffer += piece
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.write, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    sys.exit(f"{method}: {answer['error']['message']}")
                return answer['result']
            self.events.append(answer.get('method'))

    def wait(self, event):
        while event not in self.events:
            self.events.append(self.receive().get('method'))

    def open(self, page, width, medium):
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', media='print' if medium == 'print' else 'screen',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if medium == 'dark' else 'light'}])
        self.call('Page.enable')
        path, _, anchor = page.partition('#')
        self.call('Page.navigate', url='file://' + os.path.abspath(path) + ('#' + anchor if anchor else ''))
        self.wait('Page.loadEventFired')

    def run(self, script):
        answer = self.call('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in answer:
            sys.exit('script: ' + json.dumps(answer['exceptionDetails'].get('exception', {}).get('description', '?')))
        return answer['result'].get('value')

    def picture(self, selector):
        find = f'document.querySelector({json.dumps(selector)})' if selector else 'document.documentElement'
        box = self.run(f'(async () => {{ const at = {find}; at.scrollIntoView(); await new Promise(r => setTimeout(r, 300)); at.scrollIntoView();'
                       ' const b = at.getBoundingClientRect(); return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: Math.min(b.height, 6000)}; })()')
        return base64.b64decode(self.call('Page.captureScreenshot', format='png', captureBeyondViewport=True, clip=dict(box, scale=1))['data'])

    def close(self):
        self.session = None
        os.write(self.write, b'{"id":0,"method":"Browser.close"}\0')
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


page, width, medium, *rest = sys.argv[1:]
browser = Browser()
try:
    browser.open(page, int(width), medium)
    picture = rest[1] if rest[:1] == ['--picture'] else None
    for script in rest[3:] if picture else rest:
        browser.run(open(script).read())
    if picture:
        open(picture, 'wb').write(browser.picture(rest[2] if len(rest) > 2 else None))
    else:
        print(browser.run('document.title'))
finally:
    browser.close()
