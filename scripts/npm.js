#!/usr/bin/env node
// Runs the program of the package for this machine: NPM_NAME-OS-CPU, which npm has chosen
// among the optional dependencies. Nothing is downloaded here.
'use strict';
const { spawn } = require('child_process');
const os = require('os');

const name = `NPM_NAME-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/fika`);
} catch {
  console.error(`fika: the package ${name} is not installed: there is none for this system, or npm was told to omit optional dependencies`);
  console.error('hint: npm install NPM_NAME --include=optional; on Windows use WSL');
  process.exit(1);
}
const args = process.argv.slice(2);
// Where Node can, the program takes this process over: it has the terminal, signals and exit status for itself.
if (process.execve) process.execve(program, ['fika', ...args], process.env);
const child = spawn(program, args, { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (err) => {
  console.error(`fika: ${err.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
