package mention

import "bytes"

// Parsing Markdown takes time quadratic in the depth to which one line nests quotes
// and lists, and in the number of links in one paragraph. Nobody writes like that by
// hand; these bounds keep a hostile message from costing minutes.
const (
	maxNesting  = 32   // quotes and list items that one line may open
	maxLinks    = 256  // links and link definitions in one paragraph
	maxBrackets = 4096 // closing brackets in one paragraph
)

// limitNesting returns src with everything beyond the bounds blanked: the whole line
// if it nests too deeply, or a bracket too many. It copies src only if it must;
// offsets stay the same.
func limitNesting(src []byte) []byte {
	out, links, brackets := src, 0, 0
	blank := func(from, to int) {
		if &out[0] == &src[0] {
			out = bytes.Clone(src)
		}
		for i := from; i < to; i++ {
			out[i] = ' '
		}
	}
	for start := 0; start < len(src); {
		end := len(src)
		if i := bytes.IndexByte(src[start:], '\n'); i >= 0 {
			end = start + i
		}
		line := src[start:end]
		if nestingDepth(line) > maxNesting {
			blank(start, end)
			line = nil
		}
		if len(bytes.TrimSpace(line)) == 0 {
			links, brackets = 0, 0
		}
		for i, b := range line {
			if b != ']' {
				continue
			}
			if brackets++; i+1 < len(line) && (line[i+1] == '(' || line[i+1] == ':') {
				links++
			}
			if links > maxLinks || brackets > maxBrackets {
				blank(start+i, start+i+1)
			}
		}
		start = end + 1
	}
	return out
}

// nestingDepth counts the quote and list marks at the beginning of a line.
func nestingDepth(line []byte) int {
	n := 0
	for i, b := range line {
		switch b {
		case '>':
			n++
		case '-', '+', '*', '.', ')':
			if i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t' || line[i+1] == '>') {
				n++
			} else if b != '.' && b != ')' {
				return n
			}
		case ' ', '\t', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			return n
		}
	}
	return n
}
