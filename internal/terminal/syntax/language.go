package syntax

// grammar is what the scanner knows of a language.
type grammar struct {
	line   []string  // what begins a comment up to the end of the line
	block  [2]string // what begins and ends a comment over lines
	quotes string    // the quotes of strings that end with the line
	long   []string  // the quotes of strings over lines
	raw    string    // the quotes in whose strings a backslash is one
	char   bool      // single quotes are around one character
	words  string    // the keywords, each between spaces
	fold   bool      // the keywords may be written in capitals
	inWord string    // what words contain beside letters and digits
	key    string    // what follows the name of a field
	diff   bool      // lines are added or removed
}

// The comments of most languages.
func slashes() ([]string, [2]string) { return []string{"//"}, [2]string{"/*", "*/"} }

// grammarOf returns what is known of a language, or nil.
func grammarOf(language string) *grammar {
	switch language {
	case "diff", "patch":
		return &grammar{diff: true}
	case "json", "jsonc", "json5", "yaml", "yml", "toml", "ini", "conf", "html", "xml", "svg", "css", "scss":
		return dataGrammar(language)
	}
	g := grammar{quotes: `"'`, words: keywordsOf(language)}
	switch language {
	case "python", "py":
		g.line, g.long = []string{"#"}, []string{`"""`, "'''"}
	case "bash", "sh", "shell", "zsh", "make", "makefile", "dockerfile":
		g.line, g.quotes, g.long, g.raw, g.inWord = []string{"#"}, "", []string{`"`, "'"}, "'", "-"
	case "ruby", "rb", "elixir", "ex", "r", "perl", "pl":
		g.line = []string{"#"}
	case "sql":
		g.line, g.block, g.raw, g.fold = []string{"--"}, [2]string{"/*", "*/"}, `"'`, true
	case "lua", "haskell", "hs":
		g.line = []string{"--"}
	case "rust", "rs":
		g.line, g.block = slashes()
		g.quotes, g.long, g.char = "", []string{`"`}, true
	case "go", "golang":
		g.line, g.block = slashes()
		g.long, g.raw = []string{"`"}, "`"
	case "javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs":
		g.line, g.block = slashes()
		g.long, g.inWord = []string{"`"}, "$"
	case "java", "kotlin", "kt", "swift", "scala":
		g.line, g.block = slashes()
		g.long = []string{`"""`}
	default:
		if g.words == "" {
			return nil
		}
		g.line, g.block = slashes()
	}
	return &g
}

// dataGrammar returns what is known of a language for data, or nil.
func dataGrammar(language string) *grammar {
	g := grammar{quotes: `"'`, words: " true false null ", inWord: "-."}
	switch language {
	case "json", "jsonc", "json5":
		g.line, g.block = slashes()
		g.quotes, g.key = `"`, ":"
	case "yaml", "yml":
		g.line, g.key, g.raw, g.words = []string{"#"}, ":", "'", " true false null yes no on off "
	case "toml", "ini", "conf":
		g.line, g.key, g.raw, g.long = []string{"#", ";"}, "=", "'", []string{`"""`, "'''"}
	case "css", "scss":
		_, g.block = slashes()
		g.key = ":"
	default: // html, xml: text is between tags, so an apostrophe is no quote
		g.block, g.quotes, g.words = [2]string{"<!--", "-->"}, `"`, ""
	}
	return &g
}

// keywordsOf returns the keywords of a language, each between spaces, or "".
func keywordsOf(language string) string {
	switch language {
	case "go", "golang":
		return " break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota "
	case "python", "py":
		return " and as assert async await break class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield None True False self "
	case "javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs":
		return " abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function if implements import in instanceof interface keyof let namespace never new null number of private protected public readonly return satisfies static string super switch this throw true try type typeof undefined unknown var void while with yield "
	case "bash", "sh", "shell", "zsh":
		return " if then elif else fi for in do done while until case esac function return exit break continue local export readonly set unset shift source trap cd echo exec eval "
	case "make", "makefile":
		return " include define endef ifeq ifneq ifdef ifndef else endif export override "
	case "dockerfile":
		return " FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG AS HEALTHCHECK SHELL "
	case "sql":
		return " add all alter and as asc begin between by cascade case check commit conflict constraint create cross default delete desc distinct do drop else end exists explain foreign from full group having if in index inner insert into is join key left like limit not null nothing offset on or order outer over partition primary recursive references returning right rollback select set table then union unique update using values view when where with true false "
	case "rust", "rs":
		return " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while "
	case "c", "h", "cpp", "c++", "cc", "hpp", "cxx":
		return " auto bool break case catch char class const constexpr continue default define delete do double else enum explicit extern false float for friend if include inline int long namespace new noexcept nullptr operator override private protected public return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while NULL "
	case "java", "kotlin", "kt", "scala", "csharp", "cs", "c#", "dart":
		return " abstract as async await base bool boolean break byte case catch char class const continue data def default do double else enum extends false final finally float for foreach fun if implements import in instanceof int interface internal is lateinit let long namespace new null object open out override package private protected public readonly return sealed short static string super switch synchronized this throw throws trait true try using val var virtual void volatile when while with yield "
	case "swift":
		return " actor any as async await break case catch class continue default defer do else enum extension false fileprivate for func guard if import in init inout internal is let nil open override private protocol public return self Self some static struct super switch throw throws true try var where while "
	case "ruby", "rb", "elixir", "ex":
		return " alias and begin break case class def defmodule defp do else elsif end ensure false fn for if in module next nil not or private raise redo require rescue retry return self super then true undef unless until use when while yield "
	case "lua":
		return " and break do else elseif end false for function goto if in local nil not or repeat return then true until while "
	case "haskell", "hs":
		return " case class data deriving do else if import in infix instance let module newtype of then type where "
	case "php":
		return " abstract array as break case catch class const continue default do echo else elseif extends false final finally fn for foreach function global if implements include interface match namespace new null private protected public require return static switch this throw trait true try use var while yield "
	case "perl", "pl":
		return " else elsif for foreach if last local my next our package require return sub unless until use while "
	case "r":
		return " break else FALSE for function if in library NA next NULL repeat return TRUE while "
	case "zig":
		return " align and anytype async await break catch comptime const continue defer else enum errdefer error export extern false fn for if inline null or orelse packed pub return struct switch test true try undefined union unreachable var volatile while "
	case "proto", "protobuf":
		return " enum extend extensions import map message oneof option optional package public repeated required reserved returns rpc service stream syntax true false "
	case "hcl", "terraform", "tf":
		return " data for_each locals module output provider resource terraform variable true false null "
	}
	return ""
}
