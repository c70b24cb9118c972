// Makes the npm package of a build, and uses it as programs do: TypeScript's compiler checks package.ts against its
// types, and esbuild bundles package_bundle.mjs, which package_test.mjs runs.
//
//   node package.mjs BUILD      BUILD/package -> BUILD/weft-VERSION.tgz, BUILD/bundle
import {execFileSync} from 'node:child_process';
import {copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';

const build = resolve(process.argv[2]);
const here = import.meta.dirname;
const require = createRequire(join(resolve(process.env.WEFT_WEB_MODULES), 'none.js'));
const user = join(build, 'user');  // a program's folder

// A list in older versions of npm, an object in newer ones.
const [{filename, size, unpackedSize}] = Object.values(JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', build, join(build, 'package')], {encoding: 'utf8'})));
console.log(`${filename}: ${size} bytes, unpacked ${unpackedSize}`);
rmSync(user, {recursive: true, force: true});
mkdirSync(join(user, 'node_modules', 'weft'), {recursive: true});
execFileSync('tar', ['-xzf', join(build, filename), '-C', join(user, 'node_modules', 'weft'), '--strip-components=1']);

copyFileSync(join(here, 'package.ts'), join(user, 'package.ts'));
writeFileSync(join(user, 'package.json'), '{"type": "module"}');
writeFileSync(join(user, 'tsconfig.json'), JSON.stringify({
  compilerOptions: {
    strict: true, noEmit: true, target: 'esnext', module: 'nodenext', lib: ['esnext', 'dom'], types: [],
  },
  files: ['package.ts'],
}));
execFileSync(process.execPath, [require.resolve('typescript/lib/tsc.js'), '-p', user], {stdio: 'inherit'});
console.log("TypeScript takes the package's types");

copyFileSync(join(here, 'package_bundle.mjs'), join(user, 'bundle.mjs'));
rmSync(join(build, 'bundle'), {recursive: true, force: true});
execFileSync('esbuild', ['--bundle', '--minify', '--format=esm', '--log-level=warning',
                         `--outfile=${join(build, 'bundle', 'bundle.js')}`, join(user, 'bundle.mjs')],
             {stdio: 'inherit', cwd: user});
copyFileSync(join(user, 'node_modules', 'weft', 'weft.wasm'), join(build, 'bundle', 'weft.wasm'));
console.log(`esbuild bundles it: ${readFileSync(join(build, 'bundle', 'bundle.js')).length} bytes beside weft.wasm`);
