package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"fika/internal/cli/command"
)

// firstHelp is what fika help shows: what fika is, where to begin, and where the rest is.
const firstHelp = `fika runs a team of AI agents in your terminal. They write to each other, keep
working when you close it, and lose nothing when something crashes.

Start here:
  fika key set ANTHROPIC_API_KEY   a key for a model; or run Ollama
  cd REPOSITORY && fika init       make a team of agents for a repository
  fika                             open a session with them; /help there
  fika "why does it fail?" < log   one question; it continues the last one
  fika demo                        see it work first, without a key

Every day:
  fika ask coder "fix the test"    give an agent work, and wait for the answer
  fika status                      who is at work, what waits, and why
  fika inbox                       what needs you: approvals, mentions, failures
  fika approve                     answer agents that ask before a tool call
  fika undo                        undo what an agent changed in files
  fika chat send CHAT "@coder …"   write in a chat of several agents
  fika usage                       tokens and money spent
  fika down                        stop the agents here; fika up continues

More:
  fika help TOPIC                  agents, chats, jobs, models, money, safety
                                   or files
  fika help --all                  every command, and the flags of fika
  fika COMMAND --help              one command, with examples
  fika doctor                      what is wrong here, and how to fix it

Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 busy, 5 model provider,
  6 denied, 7 you stopped waiting, 8 limit or budget, 130 interrupted
`

// A topic is a short text about one part of fika, for fika help NAME.
type topic struct{ name, text string }

func topics() []topic {
	return append([]topic{
		{"agents", `An agent is a model with instructions, tools and a memory of its own. In a
repository, its file is .fika/agents/NAME.md, for you to read and edit; what you
change or add there counts after fika trust.

  fika agent list                     who is there, and what each is doing
  fika agent create NAME              create one from a template
  fika agent show NAME                its settings, and what it is doing
  fika agent stop NAME                stop it, and keep it stopped
  fika agent start NAME               start it again
  fika agent attach NAME              watch it work
  fika agent add claude               another agent program, as an agent here

Agents start when there is work, and are restarted when they crash. "idle" means
that one starts on demand; "stopped by you", that it waits for fika agent start.
`},
		{"chats", `A chat is a conversation of several agents and you. A session, which fika opens,
is a chat. Every agent that a message mentions, as in @coder, answers it; what
an agent writes calls others in the same way.

  fika                                open a session, or the last one again
  fika chat create CHAT               create one
  fika chat list                      all chats
  fika chat send CHAT "@coder …"      write in one; the agents answer
  fika chat view CHAT --follow        read along
  fika chat join CHAT                 read along and type
  fika chat queue CHAT                what runs, what waits, and why
  fika chat pause CHAT                hold it; fika chat resume CHAT continues
  fika chat stop CHAT                 drop what waits, cancel what runs
  fika conversation search WORDS      search everything that was written
`},
		{"jobs", `Work that was accepted is kept, also when everything is killed: a request to one
agent, a run of a workflow, a task of the board, a schedule.

  fika ask AGENT "…"                  continue its conversation, and wait
  fika ask --new AGENT "…"            a conversation of its own
  fika request list                   what is open, running and done
  fika request show|cancel|retry ID   one of them
  fika workflow run NAME              several steps, in a file
  fika board add "TITLE"              a task for agents that have board = true
  fika schedule create NAME …         work that starts by the clock
  fika land AGENT                     bring what an agent made to your branch
`},
	}, settingTopics()...)
}

func settingTopics() []topic {
	return []topic{
		{"models", `A model is found by itself if a key for its provider is stored or in the
environment, or if Ollama runs here.

  fika key set ANTHROPIC_API_KEY      or OPENAI_, OPENROUTER_, GEMINI_API_KEY
  fika model list                     the models, and their prices
  fika model check MODEL              ask it a few tiny questions: what works
  fika ask -m MODEL AGENT "…"         another one for this request

A server of your own, such as vLLM, is an entry in the file that
fika config path prints, or in ~/.fika/config.toml for all projects:

  model = "my-model"
  [[models]]
  id = "my-model"
  base_url = "http://127.0.0.1:8000/v1"
  api_key_env = "MY_KEY"              # fika key set MY_KEY; or leave it out
`},
		{"money", `One message of yours causes at most 200 turns of agents ([chat]
max_turns_per_chain). Money and tokens have no limit until you set one.

  fika budget set home --per day --money 5    all of fika may spend this a day
  fika budget set home --per day --tokens 2000000    where it has no price
  fika budget list                            what is set, and what is used
  fika chat limit CHAT --tokens 200000        one chat
  fika usage top                              what agents spend now
  fika usage --since 7d --by model            what was spent
  fika request trace REQUEST                  what one request cost, and where
  fika model list                             the models, and their prices
`},
		{"safety", `Commands of agents are confined to their workspace, without network, where the
system can do that; fika status says how. Rules decide what is allowed, what is
denied and what a person is asked about.

  fika approve                        answer what agents ask about
  fika rules test AGENT 'git push'    what would happen to a call, and why
  fika undo                           undo what an agent changed in files
  fika chat pause --all               hold everything
  fika trust                          what a project's files would change
  fika doctor                         how commands are confined here

In an agent's file, above its prompt, this makes it ask before each command:

  rules:
    - tool: bash
      do: ask

A rule by words, as "always" writes it, does not cover what a command writes
with > FILE: where calls ask, that file is a question of its own.
`},
		{"files", `Everything is in one folder, which fika status prints first: ~/.fika, or that of
a project below ~/.fika/projects. In a repository, .fika has settings to share.

  config.toml                         settings (fika config check)
  agents/, prompts/, skills/          instructions for agents, yours to edit
  contexts/NAME/transcript.md         what an agent said and did, as text
  chats/NAME.md                       what was written in a chat, as text
  fika.db                             the database: sqlite3 reads it
  fika store backup FILE              save all of it; fika store restore FILE
  fika store show                     how large the database is
`},
	}
}

// addHelp makes the help command: fika help, --all, and the topics.
func addHelp(root *cobra.Command, all *bool) {
	root.InitDefaultHelpCmd()
	c, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	of := func(args []string) (topic, bool) {
		for _, t := range topics() {
			if len(args) == 1 && args[0] == t.name {
				return t, true
			}
		}
		return topic{}, false
	}
	c.Flags().BoolVar(all, "all", false, "every command, and the flags of fika")
	c.Short = "help about a command, or a topic: " + topicNames()
	c.Args = func(cmd *cobra.Command, args []string) error {
		if _, is := of(args); is {
			return nil
		}
		if err := command.KnownCommand(cmd, args); err != nil {
			return command.UsageError("%v; topics: %s", err, topicNames())
		}
		return nil
	}
	command := c.Run
	c.Run = func(cmd *cobra.Command, args []string) {
		t, is := of(args)
		if is {
			cmd.Print(t.text)
			return
		}
		command(cmd, args)
	}
}

func topicNames() string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}
