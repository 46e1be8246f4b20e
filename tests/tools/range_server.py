#!/usr/bin/env python3
"""Serves a directory on 127.0.0.1 with byte ranges, for the tests of data_scripts.

usage: range_server.py DIRECTORY LOG [--cut BYTES] [--no-ranges]
Prints its port, then serves until it is killed. LOG gets one line per request: path and Range header.
--cut BYTES: a request without a range is cut off after BYTES bytes, as by a broken connection.
--no-ranges: ranges are ignored, as by a server that cannot resume.
"""
import argparse
import http.server
import os
import re

parser = argparse.ArgumentParser()
parser.add_argument('directory')
parser.add_argument('log')
parser.add_argument('--cut', type=int)
parser.add_argument('--no-ranges', action='store_true')
options = parser.parse_args()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        requested = self.headers.get('Range')
        with open(options.log, 'a') as log:
            log.write(f'{self.path} {requested}\n')
        try:
            with open(os.path.join(options.directory, self.path.lstrip('/')), 'rb') as file:
                content = file.read()
        except OSError:
            self.send_error(404)
            return
        span = None if options.no_ranges else re.fullmatch(r'bytes=(\d+)-', requested or '')
        first = int(span[1]) if span else 0
        if span and first >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if span else 200)
        if span:
            self.send_header('Content-Range', f'bytes {first}-{len(content) - 1}/{len(content)}')
        self.send_header('Content-Length', str(len(content) - first))
        self.end_headers()
        cut = options.cut if options.cut and not span else len(content)
        self.wfile.write(content[first:cut])
        self.close_connection = True

    def log_message(self, *_):
        pass


with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
