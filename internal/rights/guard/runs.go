package guard

import (
	"slices"
	"strings"
)

// Runs lists the files, besides those that the words of a command name, that decide what
// it runs: the Makefile of make, the package.json of npm. Any may be missing. note says of
// what a person's yes cannot be bound to, and is empty if the words say all.
func (c Call) Runs() (files []string, note string) {
	var scripts []string
	unknown := false
	for _, cmd := range readScript(c.Command, c.Workspace).commands {
		reads := strings.Fields(programFiles(cmd.name()))
		for _, f := range reads {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
		switch {
		case cmd.Unsure, cmd.Altered && (cmd.Script || len(reads) > 0), len(reads) > 0 && cmd.Named > 0 && !cmd.Script:
			unknown = true
		case cmd.Script && cmd.Named <= len(cmd.Words):
			scripts = append(scripts, cmd.Words[cmd.Named-1].Text)
		case len(reads) > 0:
			scripts = append(scripts, cmd.name())
		}
	}
	slices.Sort(scripts)
	switch scripts = slices.Compact(scripts); {
	case unknown:
		return files, "what it runs cannot be told, so that your answer is not bound to it"
	case len(scripts) > 0:
		return files, "your answer is bound to the files it names, not to what " + strings.Join(scripts, ", ") + " runs in turn"
	}
	return files, ""
}

// Scripts lists the files that hold what the commands of a call run.
func (c Call) Scripts() (out []string) {
	for _, cmd := range readScript(c.Command, c.Workspace).commands {
		if cmd.Script && cmd.Named > 0 && cmd.Named <= len(cmd.Words) && cmd.Words[cmd.Named-1].Known {
			out = append(out, cmd.Words[cmd.Named-1].Text)
		}
	}
	return out
}

// programFiles returns the files of a folder in which a program looks up what to run.
func programFiles(program string) string {
	switch program {
	case "make", "gmake":
		return "GNUmakefile makefile Makefile"
	case "npm", "npx", "pnpm", "yarn", "bun", "bunx":
		return "package.json .npmrc"
	case "deno":
		return "deno.json deno.jsonc package.json"
	case "just":
		return "justfile Justfile .justfile"
	case "task", "go-task":
		return "Taskfile.yml Taskfile.yaml"
	case "rake":
		return "Rakefile rakefile Rakefile.rb"
	case "bundle":
		return "Gemfile"
	case "cargo":
		return "Cargo.toml build.rs .cargo/config.toml"
	case "go":
		return "go.mod go.work"
	case "mvn":
		return "pom.xml .mvn/maven.config .mvn/extensions.xml"
	case "gradle", "gradlew":
		return "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"
	case "ant":
		return "build.xml"
	case "pytest", "py.test", "python", "python3":
		return "conftest.py pytest.ini pyproject.toml setup.cfg tox.ini"
	case "tox", "nox", "invoke":
		return "tox.ini noxfile.py tasks.py pyproject.toml"
	case "uv", "poetry", "pdm", "hatch":
		return "pyproject.toml"
	case "composer":
		return "composer.json"
	case "mix":
		return "mix.exs"
	case "cmake":
		return "CMakeLists.txt"
	case "ninja":
		return "build.ninja"
	case "scons":
		return "SConstruct"
	case "docker-compose":
		return "compose.yaml compose.yml docker-compose.yaml docker-compose.yml"
	}
	return ""
}
